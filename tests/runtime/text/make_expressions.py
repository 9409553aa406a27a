#!/usr/bin/env python3
"""Writes goldens/expressions.json: jinja2's results for many expressions and tags, in the
environment of transformers.

    python3 make_expressions.py goldens        (needs jinja2)

An expression that raises has no text. Intended differences of Ingot are not listed here (crate/src/jinja/mod.rs).
"""
import json
import sys

from make_template_cases import compiled

VARIABLES = {'s': 'Hello, World',
    'e': '',
    'u': 'héllo wörld ß',
    'n': 5,
    'f': 2.5,
    'neg': -7,
    'big': 12345678901234,
    't': True,
    'no': None,
    'l': [3, 1, 2],
    'ls': ['b', 'A', 'c'],
    'm': {'b': 1, 'a': {'x': [1, 2, {'y': 1e-07}]}, 'items': 'key', 'c d': None},
    'users': [{'name': 'Ann', 'age': 30, 'tags': ['x', 'y'], 'addr': {'city': 'Oslo'}},
    {'name': 'bob', 'age': 25, 'addr': {'city': 'Rome'}},
    {'name': 'Cid', 'age': 30, 'addr': {'city': 'oslo'}}],
    'fl': [1e-07, 1e+16, 1.0, 100000.0, 123456789.123, 1e+22, 5e-324, 0.1, -0.0, 1.5e+300],
    'messages': [{'role': 'user', 'content': 'hi'},
    {'role': 'assistant', 'content': 'yo', 'tool_calls': [{'function': {'name': 'f', 'arguments': {'a': 1.5, 'b': [True, None]}}}]}],
    'txt': 'a b  c\n d\te\r\nf',
    'pct': '100%',
    'path': 'a/b/c.d.e'}
# Each one is put in braces.
EXPRESSIONS = r"""
1e-7
1e-7|tojson
1e-7|string
1e-7 ~ ''
fl
fl|tojson
fl|string
fl ~ '|'
fl|join(',')
[1e16, 1e15, 123456.789e10]
m
m|tojson
m|tojson(indent=2)
m|tojson(indent=0)
m|tojson(sort_keys=true)
m|tojson(separators=(',', ':'))
u|tojson(ensure_ascii=true)
u|tojson
'\x7f\u2028'|tojson(ensure_ascii=true)
[1, 2.0, 'a', none, true]|tojson(indent='\t')
{}|tojson(indent=2)
[]|tojson(indent=2)
(1, 2)|tojson
undefinedx|tojson
users|map(attribute='name')|list|tojson
'%s' % 'x'
'%s and %s' % ('a', 'b')
'%s' % [1, 2]
'%s' % m
'%s' % none
'%s' % undefinedx
'%(a)s' % {'a': 5}
'%d' % 3.99
'%5d|%-5d|%05d|%+d|% d' % (42, 42, 42, 42, 42)
'%x %X %o %#x' % (255, 255, 8, 255)
'%e %E' % (12345.678, 0.00012)
'%f %.2f %10.3f|%-10.1f|' % (1.5, 2.345, 3.14159, 2.0)
'%g %g %g %g' % (1e-5, 123456789.0, 0.0001, 100.0)
'%c%c' % (65, 'b')
'%r' % 'a\'b'
'%r %a' % ('é', 'é')
'%%' % ()
'%5s|%-5s|%.2s' % ('ab', 'ab', 'abc')
'%s %s' % ('a',)
'%s' % ('a', 'b')
'%d' % 'a'
'%*d' % (5, 42)
'%i' % true
'abc' % []
'abc' % {}
'abc' % 1
'%s' % (1e-7,)
'%s' % 1e16
'{} {}'.format('a', 1)
'{0} {1} {0}'.format('a', 'b')
'{name} {age}'.format(name='x', age=3)
'{:>5}|{:<5}|{:^5}|{:*^7}'.format('a', 'b', 'c', 'd')
'{:05d} {:+} {:,} {:_}'.format(42, 3, 1234567, 1234567)
'{:.2f} {:e} {:g} {:%}'.format(3.14159, 12345.678, 0.00001, 0.25)
'{:x} {:X} {:#x} {:b} {:o} {:c}'.format(255, 255, 255, 5, 8, 65)
'{!r} {!s}'.format('a', 'b')
'{0.name} {0[name]}'.format(dict(name='x'))
'{0[0]} {1[a]}'.format([7], {'a': 8})
'{:{}}'.format('a', 5)
'{{}} {}'.format(1)
'{}'.format(1e-7)
'{}'.format([1e-7, 'a'])
'{:.3}'.format(1234.5678)
'{:.3}'.format('abcdef')
'{:10.3f}|'.format(3.14159)
'{:08.3f}'.format(-3.14159)
'{:,.2f}'.format(1234567.891)
'{:>10}'.format(none)
'{}'.format(none)
'{} {}'.format('a')
'{a}'.format()
'{'.format()
'{:d}'.format('a')
'{:s}'.format(1)
'{:d}'.format(true)
'{}'.format(true)
'{a[b]}'.format_map({'a': {'b': 1}})
s.upper()
s.lower()
s.title()
'hello wORLD it\'s'.title()
'hello wORLD-foo (bar)'|title
s.capitalize()
'éCOLE'.capitalize()
s.swapcase()
u.upper()
u.casefold()
s.center(20)
s.center(21, '*')
'a'.center(4)
'ab'.center(5)
s.ljust(15) ~ '|'
s.rjust(15, '.')
'42'.zfill(5)
'-42'.zfill(5)
'+4'.zfill(4)
s.count('l')
s.count('l', 4)
s.count('')
'aaa'.count('aa')
s.find('o')
s.find('o', 5)
s.find('zz')
s.rfind('o')
u.find('w')
s.index('W')
s.index('zz')
s.rindex('o')
s.startswith('Hello')
s.startswith(('x', 'He'))
s.startswith('World', 7)
s.endswith('World')
s.endswith(('d', 'x'))
s.startswith(['H'])
s.endswith('Hello', 0, 5)
s.replace('l', 'L')
s.replace('l', 'L', 2)
s.replace('', '-')
'abc'.replace('', '-', 2)
s.split()
s.split(',')
s.split(', ', 1)
s.split('l', 1)
s.split(sep='o', maxsplit=1)
s.split(none, 1)
txt.split()
txt.split(' ')
txt.split(none, 2)
'  a b c  '.split(none, 1)
''.split()
''.split(',')
s.split('')
path.rsplit('.', 1)
path.rsplit('.')
path.rsplit('/', maxsplit=1)
'  a b c  '.rsplit(none, 1)
'a b c'.rsplit()
path.partition('/')
path.partition('#')
path.rpartition('/')
path.rpartition('#')
s.partition(', ')[2]
s.removeprefix('Hello')
s.removeprefix('x')
s.removesuffix('World')
s.removesuffix('x')
txt.splitlines()
txt.splitlines(true)
'a\n\nb\n'.splitlines()
'a\x0bb\x85c\u2028d'.splitlines()
''.splitlines()
'\n'.splitlines()
'  a '.strip() ~ '|'
'  a '.lstrip() ~ '|'
'  a '.rstrip() ~ '|'
'xxaxx'.strip('x')
'xyaxy'.lstrip('yx')
'xyaxy'.rstrip('yx')
'\x1c a\x85'.strip()
'\n a \n'|trim ~ '|'
'xax'|trim('x')
'a\tb'.expandtabs()
'a\tb'.expandtabs(4)
'01\t012\t0'.expandtabs(4)
', '.join(['a', 'b'])
', '.join([])
', '.join('abc')
', '.join(m)
', '.join([1])
'123'.isdigit()
'12a'.isdigit()
''.isdigit()
'²'.isdigit()
'²'.isdecimal()
'½'.isnumeric()
'½'.isdigit()
'四'.isnumeric()
'٣'.isdigit()
'abc'.isalpha()
'ab1'.isalpha()
'ab1'.isalnum()
'a b'.isalnum()
'日本'.isalpha()
'abc'.islower()
'aBc'.islower()
'ABC'.isupper()
'A1'.isupper()
'1'.isupper()
'Ab Cd'.istitle()
'ab Cd'.istitle()
' \t'.isspace()
''.isspace()
'abc'.isascii()
'é'.isascii()
'a1_'.isidentifier()
'1a'.isidentifier()
'a\n'.isprintable()
'ab'.isprintable()
s.foo
s.foo()
s.__class__
s[0]
s[-1]
s[99]
s[1:4]
s[::-1]
s[::2]
s[-5:]
s[:-5]
s[5:1]
s[5:1:-1]
s['x']
l[0]
l[-1]
l[10]
l[1:]
l[:-1]
l[::-1]
l[-2:]
l['a']
l.0
users[0].name
users.0.addr.city
users[0]['tags'][1]
(1, 2, 3)[1:]
(1, 2, 3)[::-1]
m.a.x[2].y
m['c d']
m.b
m.zz
m.zz.y
m['zz']
m['items']
m.items is defined
m.items()|list
m.items is callable
m.keys()
m.values()|list
m.keys()|list
m.get('b')
m.get('zz')
m.get('zz', 'd')
m.copy()
l.sort()
l.copy()
l.count(3)
l.index(2)
l.index(9)
(1, 2, 1).count(1)
(1, 2).index(2)
n.bit_length()
f.is_integer()
(2.0).is_integer()
dict.fromkeys(['a', 'b'], 0)
{}.fromkeys('ab')
n + 2
n - 2.5
n * 3
n / 2
4 / 2
n // 2
neg // 2
neg % 3
neg / 2
neg // 2.0
neg % 2.5
7 % -3
-7 // -2
n ** 2
2 ** -1
2 ** 0.5
2 ** 3 ** 2
-2 ** 2
n / 0
n // 0
n % 0
'a' * 3
3 * 'ab'
'a' * 0
'a' * -1
[1, 2] * 2
(1,) * 3
'a' + 'b'
'a' + 1
1 + 'a'
[1] + [2]
(1,) + (2,)
[1] + (2,)
none + 1
undefinedx + 'a'
'a' + undefinedx
'a' ~ 1 ~ none ~ true ~ 2.0
undefinedx ~ 'x'
[1, 'a'] ~ {}
1 < 2
1 < 2 < 3
1 < 3 < 2
1 == 1.0
1 == true
'1' == 1
'a' < 'b'
'a' < 1
none < 1
undefinedx < 1
[1, 2] < [1, 3]
[1] == (1,)
{'a': 1} == {'a': 1.0}
none == undefinedx
undefinedx == undefinedy
'a' in 'abc'
1 in [1, 2]
'a' in {'a': 1}
'b' not in {'a': 1}
1 in undefinedx
1 in none
'x' in l
not 1
not ''
1 and 0
'' or 'x'
none or 0
1 if true
1 if false
(1 if false) is undefined
'a' if n > 3 else 'b'
-n
- - 5
-'a'
+'a'
-f|abs
1_000
0x1F
0b101
0o17
1_0.5
1e5
1.5e-3
'a' 'b' "c"
'\d\.\w'
'\t\x41\u00e9\101'
"it's"
'a"b'
['a"b', "it's", "it's \"q\""]
['\n', '\t', '\\', '\x00', 'é', '\u200b', '\xa0']
{'a': 'b', 1: [none, true, 1.0]}
(1,)
()
(1, 'a')
[[], {}, ()]
undefinedx
[undefinedx]
undefinedx|length
undefinedx|first
undefinedx|last
undefinedx|list
undefinedx|join(',')
undefinedx|upper
undefinedx|trim
undefinedx|string
undefinedx|int
undefinedx|float
undefinedx|abs
undefinedx|sum
undefinedx|sort
undefinedx|reverse|list
undefinedx|unique|list
undefinedx|map('upper')|list
undefinedx|selectattr('x')|list
undefinedx|items|list
undefinedx|dictsort
undefinedx|replace('a', 'b')
undefinedx|default('d')
undefinedx|d('e')
undefinedx|max
undefinedx|round
undefinedx|capitalize
undefinedx|indent
undefinedx|wordcount
undefinedx|e
undefinedx is defined
undefinedx is undefined
undefinedx is none
undefinedx is iterable
undefinedx is sequence
undefinedx is mapping
undefinedx is string
undefinedx is number
undefinedx is callable
undefinedx.foo
undefinedx['foo']
undefinedx.foo is defined
undefinedx()
undefinedx[1:]
m.zz is defined
m.zz|default('q')
m.zz[0]
'x'|int
'42'|int
' 42 '|int
'42.9'|int
'0x1f'|int(base=16)
'1f'|int(0, 16)
'x'|int(7)
'1_000'|int
none|int
none|int(3)
3.99|int
-3.99|int
true|int
[]|int
'1e3'|int
'inf'|int
'x'|float
'1.5'|float
'1e-7'|float
' 2 '|float
'nan'|float
'inf'|float
none|float
3|float
'x'|float(1.5)
'٣'|int
'𝟘'|int
'𝟙𝟚'|int
'٣.٥'|float
'٣.٥'|int
'1_0.5'|float
'1_.5'|float
'1_e5'|float
'²'|int(7)
[[1, 2, 3]]|map(attribute='١')|list
[[1, 2, 3]]|map(attribute='²')|list
'{٠} {[١]}'.format('a', 'bc')
'{٠[١]}'.format('abc')
'{²}'.format('a')
'{:٥}|{:.٢f}'.format('x', 1.2345)
'%٥d' % 5
3.7|round
2.5|round
3.5|round
3.14159|round(2)
5|round
1234|round(-2)
1250|round(-2)
1234.5|round(-2)
3.14159|round(2, 'ceil')
3.14159|round(2, 'floor')
3.5|round(method='floor')
3|round(method='ceil')
2.675|round(2)
'a'|round
-5|abs
-5.5|abs
'a'|abs
l|length
s|length
m|length
n|length
none|length
l|count
l|first
l|last
s|first
s|last
m|first
[]|first
[]|last
l|sort
l|sort(reverse=true)
ls|sort
ls|sort(case_sensitive=true)
ls|sort(true)
users|sort(attribute='age')|map(attribute='name')|list
users|sort(attribute='age,name', reverse=true)|map(attribute='name')|list
users|sort(attribute='addr.city')|map(attribute='name')|list
m|sort
l|reverse|list
s|reverse
l|min
l|max
[]|max
ls|min
ls|max(case_sensitive=true)
users|max(attribute='age')
l|sum
[1.5, 2]|sum
[]|sum
users|sum(attribute='age')
l|sum(start=10)
['a']|sum
[[1], [2]]|sum(start=[])
l|join
l|join(', ')
l|join(d='-')
users|join(', ', attribute='name')
[1, none, true, 1.0, 'a']|join('|')
'abc'|join('-')
m|join(',')
users|map(attribute='name')|join(',')
users|map(attribute='zz')|list
users|map(attribute='zz', default='q')|list
users|map(attribute='addr.city')|list
users|map(attribute='tags.0')|list
ls|map('upper')|list
ls|map('replace', 'b', 'x')|list
[1.234, 2.345]|map('round', 1)|list
users|selectattr('age', 'equalto', 30)|map(attribute='name')|list
users|selectattr('age', '>', 26)|list|length
users|selectattr('tags')|map(attribute='name')|list
users|selectattr('tags', 'defined')|list|length
users|rejectattr('age', 'eq', 30)|map(attribute='name')|list
users|selectattr('name', 'in', ['Ann', 'bob'])|list|length
l|select('odd')|list
l|reject('odd')|list
l|select|list
[0, 1, '', 'a']|select|list
l|select('gt', 1)|list
l|select('divisibleby', 3)|list
ls|select('lower')|list
[1, 'a', none]|select('string')|list
l|batch(2)|list
l|batch(2, 0)|list
l|slice(2)|list
range(10)|slice(3)|list
range(10)|slice(3, 'x')|list
range(10)|batch(4, '-')|list
[1, 1, 2, 'a', 'A']|unique|list
users|unique(attribute='age')|map(attribute='name')|list
users|groupby('age')
users|groupby('age')|length
(users|groupby('age'))[0].grouper
(users|groupby('age'))[0].list|length
users|groupby('addr.city')|map('first')|list
users|groupby('zz', default='q')|length
m|dictsort
{'b': 1, 'A': 2}|dictsort
{'b': 1, 'A': 2}|dictsort(true)
{'b': 1, 'A': 2}|dictsort(by='value')
{'b': 1, 'A': 2}|dictsort(reverse=true)
m|items|list
m|list
s|list
'ab'|list
none|list
1|list
s|upper
1|upper
none|upper
s|lower
'fOO bar'|capitalize
s|title
'a-b c(d)e [f] {g} <h'|title
s|center(20)
s|replace('l', 'L')
s|replace('l', 'L', 1)
123|replace('1', 'x')
s|wordcount
'a_b c-d é'|wordcount
s|truncate(5)
s|truncate(5, true)
'foo bar baz qux'|truncate(9)
'foo bar baz qux'|truncate(9, true)
'foo bar baz qux'|truncate(11)
'foo bar baz qux'|truncate(11, false, '...', 0)
'a\nb\n\nc'|indent
'a\nb\n\nc'|indent(2, true)
'a\nb\n\nc'|indent(width=2, first=true, blank=true)
'a\nb'|indent('>>')
'a\n'|indent
''|indent(first=true)
'a\r\nb'|indent
none|default('d')
none|default('d', true)
''|default('d', true)
''|default('d')
0|d(5, true)
false|default('x', boolean=true)
'<a>&"\''|e
'<a>&"\''|escape
('<a>'|e)|e
('<a>'|e)|forceescape
'<a>'|safe
('<a>'|safe) + '<b>'
'<b>' + ('<a>'|safe)
('<a>'|safe) ~ '<b>'
('<a>'|safe)|string
'<b>x</b> <!-- c --> y'|striptags
'a'|safe is escaped
('%s'|safe) % '<x>'
['a'|safe]
'%s %s'|format('a', 1)
'%(x)s'|format(x=2)
'a b&c/d'|urlencode
{'a': 'b c', 'd': 1}|urlencode
[('a', 1), ('b', '/')]|urlencode
{'class': 'x', 'y': none, 'id': 'a"b'}|xmlattr
1024|filesizeformat
1000000|filesizeformat
1|filesizeformat
1500|filesizeformat(true)
m|attr('b')
m|attr('zz')
m|attr('items') is callable
1 is odd
2 is even
9 is divisibleby 3
9 is divisibleby(4)
1.5 is odd
1 is integer
1.0 is integer
true is integer
1.0 is float
1 is float
true is number
1 is number
'1' is number
'a' is string
1 is string
m is mapping
l is mapping
l is sequence
s is sequence
m is sequence
n is sequence
none is sequence
m.items() is sequence
m.keys() is iterable
range(3) is sequence
range(3) is iterable
(users|map(attribute='name')) is sequence
(users|map(attribute='name')) is iterable
l is iterable
s is iterable
none is iterable
1 is iterable
none is none
none is defined
0 is none
true is true
1 is true
false is false
true is boolean
0 is boolean
'abc' is lower
'ABC' is upper
'aBc' is lower
1 is lower
1 is eq 1
1 is equalto(1)
1 is ne 2
1 is lt 2
2 is gt 1
2 is ge 2
1 is le 0
1 is sameas 1
none is sameas none
l is sameas l
1 is in [1, 2]
'a' is in 'abc'
1 is not in [2]
1 is not none
1 is not string
'upper' is filter
'nope' is filter
'odd' is test
'nope' is test
range is callable
s.upper is callable
s is callable
'x' is escaped
range(5)
range(1, 10, 3)|list
range(5, 0, -2)|list
range(5)[1]
range(5)[1:3]|list
range(5)|length
range(200000)
range(0)
range(1, 2, 0)
range('a')
dict(a=1, b=2)
dict({'a': 1}, b=2)
dict([('a', 1)])
dict([1])
namespace(a=1).a
namespace(a=1).b
namespace({'a': 1})['a']
cycler('a', 'b').next()
joiner()()
raise_exception('no')
strftime_now('%%')
messages|selectattr('role', 'equalto', 'user')|list|length
messages[1].tool_calls[0].function.arguments|tojson
messages[1].tool_calls[0]['function']['arguments'].items()|list
messages[-1]['content']
messages[1:]|length
messages|map(attribute='content')|join(' ')
(messages|last).role
(messages|first)['role']
'yes' if messages|selectattr('role', 'equalto', 'zz') else 'no'
messages|selectattr('role', 'equalto', 'zz')|list|length > 0
messages[0].tool_calls|length > 0
messages[0].tool_calls is defined and messages[0].tool_calls|length > 0
true
True
None
none
[true, none]
false|string
1|string ~ 'a'
1.0|string
true|tojson
none|tojson
'</s>'|tojson
'a' in m and m.a is mapping
m.a.x|length
m is mapping and 'b' in m
'abc'|upper|lower|title
'a,b'.split(',')|map('upper')|join('-')
s.split(' ')[0].rstrip(',')
'x'.join(['a', 'b']).upper()
(l + [4])|length
l|map('string')|join('+')
[1, 2, 3][-1:][0]
'a%sb' % 1
'%s%%' % 50
'%.1f%%' % 12.345
l == [3, 1, 2]
3 in l and not 4 in l
not 4 in l
not l is string
1 + 2 ~ 3 + 4
1 ~ 2 * 3
2 * 3 ** 2
10 - 3 - 2
2 + 3 * 4 % 5
'a' < 'b' and 'b' < 'c'
(1, 2) < (1, 3)
[1, 2] + [3] == [1, 2, 3]
big
big * big
9223372036854775807 + 1
18446744073709551616
1.0 * 3
10 / 4 * 2
1e308 * 10
-1e308 * 10
(1e308 * 10)|tojson
0.1 + 0.2
1 / 3
100 / 3
1e15 + 0.3
5 // 0.3
-0.0
0.0 * -1
1.0e10|int
3.0|int
"%s" % 3.0
'%d' % 1e10
'%s' % true
'%s|%s' % (none, [none])
none ~ ''
m.a['x'][0]
m.a.x.0
m.a.x[-1]['y'] * 10
users|map(attribute='age')|sum / users|length
[3, 1, 2]|sort|first
'b' in ls
'B'|lower in ls
loop
caller
{'a': 1}.a
{'a': {'b': 2}}.a.b
{'get': 1}['get']
{'x': 1}['get']('x')
{'a': 1, **{}}
[*l]
dict(**m)
'{}{}'.format(*['a', 'b'])
'{a}{b}'.format(**{'a': 1, 'b': 2})
l.append
l.append is defined
m.update is defined
s._foo
s.__len__
s.upper.__name__
u|length
'😀'|length
'😀'[0]
'😀a'[1:]
'😀'|tojson(ensure_ascii=true)
['😀']
'ﬁ'.upper()
'ǆ'.title()
'ΑΣ'.lower()
'İ'.lower()|length
'a\u0301'.upper()
'ŉ'.casefold()
'x' * 3 ~ 'y' * 2
1 is divisibleby 0
l[n]
l[true]
m[[1]]
{(1, 2): 3}
'abc'[none:2]
'abc'[::0]
[1, 2, 3][1:2][0]
5[0]
none[0]
none.x
none.x.y
none.upper()
true + 1
true & 1
1 if n is defined and n > 3 else 2
'a' if l else 'b'
'a' if [] else 'b'
'a' if {} else 'b'
'a' if 0.0 else 'b'
'a' if range(0) else 'b'
'a' if (l|reject('string')) else 'b'
'abc' is in ['abc']
m|length == 4
m.items()|length
m.items()|first
(m.items()|list)[0][1]
users[0].items()|map('first')|list
users|map('items')|map('list')|list|length
l|map('abs')|list
[[1, 2], [3]]|map('length')|list
[[1, 2], [3]]|map('sum')|list
[1, 2, 3]|map('string')|map('int')|sum
'a b c'.split()|map('capitalize')|join(' ')
[' a ', 'b']|map('trim')|list
['a', 'b']|map('default', 'x')|list
'a'.ljust(3, 'xy')
'42'.isnumeric()
'3.14'.isnumeric()
'abc'.find('b', -2)
'abc'.rfind('c', 0, 2)
'abcabc'.count('b', -3)
'abc'.replace('b')
'abc'.upper(1)
'abc'.split(1)
'abc'.startswith(1)
'abc'.strip(1)
'a'.center('b')
'a'.zfill('b')
s.nope is defined
'a|b|c'.split('|')[-1]
'<think>x</think>y'.split('</think>')[-1].lstrip('\n')
'<think>x</think>y'.split('</think>')|last
'a</think>b'.split('</think>', 1)[1]
'</think>' in 'a</think>b'
('a</think>b'.split('</think>')|first).strip()
'key: {0:>{1}}'.format('v', 4)
'{:<10}|{:^10}|{:>10}'.format(1, 2.5, 'x')
'{:=+6d}'.format(5)
'{:06.2f}'.format(3.14159)
'{:+.1e}'.format(12345.678)
'{:#o} {:#b}'.format(8, 5)
'{:,}'.format(1234567.891)
'{:_x}'.format(1048575)
'{:010,}'.format(1234567)
'{:.0f} {:.0f} {:.0f}'.format(0.5, 1.5, 2.5)
'{:g}'.format(1e20)
'{:G}'.format(1e-10)
'{:.10g}'.format(1/3)
'{:n}'.format(1234)
'{:.2%}'.format(0.12345)
'{:5}|'.format(true)
'{:>5}'.format(1.0)
'{:.1}'.format(0.05)
'{:.2}'.format(1e10)
'{:.5}'.format(100.0)
'{:}'.format(1.0)
'%5.1f|%-8s|%3d%%' % (3.14159, 'ab', 7)
'%+.2e' % -0.000123
'%08.3f' % -3.14159
'%#.3g' % 1.0
'%s' % 1e300
'%.3d' % 5
'%05s' % 'a'
'%-05d|' % 5
'% 05d' % 42
'%o' % -8
'%x' % 1.5
'%d' % none
'%f' % 'a'
'%z' % 1
'%' % 1
'%(a' % {}
'%(a)s' % 1
'%(b)s' % {'a': 1}
'%(a)s %(a)d' % {'a': 5}
strftime_now('%Y')|int > 2000
"""
TEMPLATES = [
    "{% for x in l %}{{ loop.index }}{{ loop.index0 }}{{ loop.revindex }}{{ loop.revindex0 }}{{ loop.first }}{{ loop.last }}{{ loop.length }}{{ loop.depth }}{{ loop.previtem }}{{ loop.nextitem }}{{ loop.cycle('a','b') }}{{ loop.changed(x) }};{% endfor %}",
    "{% for x in l if x > 1 %}{{ loop.index }}/{{ loop.length }}:{{ x }}{{ '' if loop.last else ',' }}{% else %}none{% endfor %}",
    '{% for x in [] %}a{% else %}none{% endfor %}',
    '{% for x in undefinedx %}a{% else %}none{% endfor %}',
    '{% for x in 5 %}a{% endfor %}',
    '{% for k, v in m.items() %}{{ k }}={{ v }};{% endfor %}',
    '{% for k, v in m|dictsort %}{{ k }}={{ v }};{% endfor %}',
    '{% for k in m %}{{ k }};{% endfor %}',
    "{% for c in 'aé' %}[{{ c }}]{% endfor %}",
    '{% for a, b in [[1,2],[3,4]] %}{{ a }}{{ b }}{% endfor %}',
    '{% for a, (b, c) in [[1,[2,3]]] %}{{ a }}{{ b }}{{ c }}{% endfor %}',
    '{% for a, b in [[1]] %}x{% endfor %}',
    '{% for x in l %}{% if x == 1 %}{% continue %}{% endif %}{{ x }}{% endfor %}',
    '{% for x in l %}{% if x == 1 %}{% break %}{% endif %}{{ x }}{% endfor %}',
    '{% set x = 1 %}{% for i in l %}{% set x = i %}{% endfor %}{{ x }}',
    '{% set ns = namespace(x=1) %}{% for i in l %}{% set ns.x = ns.x + i %}{% endfor %}{{ ns.x }}',
    '{% if true %}{% set y = 2 %}{% endif %}{{ y }}',
    '{% for i in l %}{% if loop.first %}{% set z = i %}{% endif %}{{ z }}{% endfor %}',
    '{% set ns = namespace() %}{% set ns.a = 1 %}{{ ns.a }}{{ ns.b is defined }}',
    '{% set q.a = 1 %}',
    '{% set m.a = 1 %}',
    '{% macro f(a, b=2, c=a) %}{{ a }}{{ b }}{{ c }}{% endmacro %}{{ f(1) }}|{{ f(1, 3) }}|{{ f(a=5, c=6) }}|{{ f() }}',
    '{% macro f(a) %}{{ a }}{% endmacro %}{{ f(1, 2) }}',
    '{% macro f(a) %}{{ a }}{% endmacro %}{{ f(1, b=2) }}',
    '{% macro f() %}<{{ caller() }}>{% endmacro %}{% call f() %}x{{ n }}{% endcall %}',
    '{% macro f() %}{{ caller(1, 2) }}{% endmacro %}{% call(a, b) f() %}{{ a }}-{{ b }}{% endcall %}',
    '{% macro f() %}{{ caller is defined }}{% endmacro %}{{ f() }}',
    '{% macro f(x) %}{% if x > 0 %}{{ x }}{{ f(x - 1) }}{% endif %}{% endmacro %}{{ f(3) }}',
    '{% set a = 1 %}{% macro f() %}{{ a }}{% endmacro %}{% set a = 2 %}{{ f() }}',
    '{% macro f() %}{% set a = 5 %}{% endmacro %}{{ f() }}{{ a is defined }}',
    '{% macro f() %}  x\n{% endmacro %}[{{ f() }}]{{ f()|trim }}{{ f() is string }}',
    '{% set t %}a{{ n }}b{% endset %}{{ t }}{{ t|length }}',
    '{% set t | upper %}abc{% endset %}{{ t }}',
    "{% set t | replace('a','b') | upper %}abc{% endset %}{{ t }}",
    '{% filter upper %}abc{{ n }}{% endfilter %}',
    "{% filter replace('a', 'b')|trim %} aaa {% endfilter %}|",
    '{% with a = 1, b = 2 %}{{ a }}{{ b }}{% endwith %}{{ a is defined }}',
    '{% set a = 1 %}{% with a = 2, b = a %}{{ a }}{{ b }}{% endwith %}{{ a }}',
    '{% set a, b = 1, 2 %}{{ a }}{{ b }}',
    '{% set a, b = [1, 2, 3] %}',
    '{% set a = 1, 2 %}{{ a }}',
    '{% set (a, b) = (1, 2) %}{{ a }}{{ b }}',
    '{% if n > 3 %}a{% elif n > 2 %}b{% else %}c{% endif %}',
    '{% if undefinedx %}a{% else %}b{% endif %}',
    '{% if not undefinedx is defined %}a{% endif %}',
    '{% if undefinedx.y %}a{% endif %}',
    'a\n  {% if true %}\n  b\n  {% endif %}\nc\n',
    'a\n  {%- if true -%}\n  b\n  {%- endif -%}\nc\n',
    'a {{- n -}} b',
    'a\n{{ n }}\nb\n\n',
    '  {#- c -#}  x',
    'a\n  {# c #}\nb',
    '{%+ if true %}x{% endif %}',
    'a  {%+ if true %}x{% endif +%}\nb',
    '\n\n{{ n }}',
    '  {{ n }}  ',
    'x{# a {{ b }} #}y',
    '{% raw %}{{ x }}{% if %}{% endraw %}',
    'a\n {% raw %}\n{{ x }}\n {% endraw %}\nb',
    '{%- raw -%}  a  {%- endraw -%}  b',
    '{# {% raw %} #}x',
    'a\r\nb\r{{ n }}',
    "{{ 'a\r\nb' }}",
    '{% generation %}x{% set g = 1 %}{% endgeneration %}{{ g is defined }}',
    '{%- generation -%} x {%- endgeneration -%} y',
    '{% for x in l %}{% generation %}{{ x }}{% endgeneration %}{% endfor %}',
    "{% set j = joiner('|') %}{{ j() }}a{{ j() }}b",
    '{% for x in [1, [2, [3]]] recursive %}{% if x is iterable %}({{ loop(x) }}){% else %}{{ x }}@{{ loop.depth }}{% endif %}{% endfor %}',
    "{% set g = l|map('string') %}{{ g|list }}{{ g|list }}",
    "{% set g = l|select('odd') %}{{ g|first }}{{ g|list }}",
    '{% block a %}x{{ n }}{% endblock %}',
    '{% block a %}x{% endblock a %}{{ self.a() }}',
    '{{ n',
    '{% if %}{% endif %}',
    '{% for %}',
    '{% endfor %}',
    '{% if n %}',
    '{{ }}',
    '{{ 1 + }}',
    '{{ (1 }}',
    "{{ 'a }}",
    '{% nope %}',
    '{% do l.append(1) %}',
    '{{ a b }}',
    '{# x',
    '{% raw %}x',
    '{{ [1, 2 }}',
    '{% set %}',
    '{{ 1 is }}',
    '{{ x| }}',
    '{% macro f(a=1, b) %}{% endmacro %}',
    '{{ f(a=1, 2) }}',
    '{{ f(**m, 1) }}',
    '{% set true = 1 %}',
    "{% include 'x' %}",
    "{% import 'x' as y %}",
    "{% from 'x' import y %}",
    "{% extends 'x' %}",
    '{{ x|nope }}',
    '{{ x is nope }}',
    '{{ nope() }}',
    "{% for m in messages %}{% if (m['role'] == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('alt') }}{% endif %}{{ '<|' + m.role + '|>' ~ m.content|trim }}{% endfor %}",
    '{%- set ns = namespace(found=false) -%}{%- for m in messages if not ns.found -%}{%- set ns.found = true -%}{{ m.role }}{%- endfor -%}',
    '{% for m in messages[::-1] %}{{ m.role }}{% endfor %}',
    '{% for m in messages|reverse %}{{ m.role }}{{ loop.last }}{% endfor %}',
    '{% set messages = messages[1:] %}{{ messages|length }}',
    "{% set x = {'a': [1]} %}{{ x.a[0] }}{{ x['a'] }}",
    "{% if messages[0]['role'] == 'system' %}a{% else %}b{% endif %}",
    "{% for x in range(3) %}{{ x }}{{ ',' if not loop.last }}{% endfor %}",
    "{% for t in messages[1].tool_calls %}{% set f = t.function %}{{ f.name }}({% for k, v in f.arguments.items() %}{{ k }}={{ v|tojson if v is not string else v }}{{ ', ' if not loop.last }}{% endfor %}){% endfor %}",
    '{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}B{% endmacro %}{{ a() }}',
    '{% for i in range(2) %}{% macro q() %}{{ i }}{% endmacro %}{{ q() }}{% endfor %}',
    '{% set d = dict() %}{% set d = dict(d, a=1) %}{{ d }}',
    '{% set l2 = [] %}{% for x in l %}{% set l2 = l2 + [x] %}{% endfor %}{{ l2 }}',
    '{% set ns = namespace(l=[]) %}{% for x in l %}{% set ns.l = ns.l + [x] %}{% endfor %}{{ ns.l }}',
    '{% set f = namespace(g=1) %}{{ f.g }}',
    '{% macro f() %}m{% endmacro %}{% set ns = namespace(g=f) %}{{ ns.g() }}',
    "{% macro f() %}m{% endmacro %}{% set d = {'g': f} %}{{ d.g() }}",
    '{% if get_x is defined %}{{ get_x() }}{% else %}no{% endif %}',
    "{% if 'nope' is filter %}{{ 1|nope }}{% else %}no{% endif %}",
    "{{- 'a' }}\n{{- 'b' -}}\n  c",
    'x\n\n{%- for i in l %}\n{{ i }}\n{%- endfor %}\n\ny',
    '{% for i in l -%}\n  {{ i }}\n{% endfor %}',
    '{%- for i in l %} {{ i }}{% endfor -%}  z',
    '\t{% if true %}\tx\n\t{% endif %}\ny',
    'a{% if true %}\nb{% endif %}\nc',
    '{{ n }}\n{% if true %}\n{% endif %}\nq',
    '{% set x %}\n  a\n{% endset %}[{{ x }}]',
    '{#\nc\n#}\nx',
    '{{ \'{%\' }}{{ \'}}\' }}{{ "{{" }}',
    "{{ {'a': {'b': 1}} }}",
    "{{ {'a': {'b': 1}}.a.b }}",
    "{{ '}}' ~ '%}' }}",
]


def main(folder):
    templates = ["{{ " + line + " }}" for line in EXPRESSIONS.strip("\n").split("\n")] + TEMPLATES
    cases = []
    for source in templates:
        case = {"template": source}
        try:
            case["text"] = compiled(source).render(**json.loads(json.dumps(VARIABLES)))
        except Exception:  # noqa: BLE001 whatever Python raises
            pass
        cases.append(case)
    with open(f"{folder}/expressions.json", "w") as out:
        lines = ",\n".join(json.dumps(case, ensure_ascii=False) for case in cases)
        out.write('{"variables": ' + json.dumps(VARIABLES, ensure_ascii=False) + ',\n"cases": [\n' + lines + "\n]}\n")


if __name__ == "__main__":
    main(sys.argv[1])

"""Tests `ingot serve` with real clients: the official openai and anthropic packages, and clients that misbehave.

docs/serving.md (Promises) lists what they guarantee.
"""
import concurrent.futures
import json
import random
import re
import signal
import statistics
import time

import clients
import fields
import replay
from server import Server, Stream

PROMPT = "Once upon a time there was a small red house. In it"


def words(count, seed):
    source = random.Random(seed)
    return " ".join(source.choice("alpha beta gamma delta one two three red green blue cat dog house tree sky".split())
                    for _ in range(count))


def openai_client(server):
    """Every call of the official client that the server supports, streamed and not."""
    import openai
    client = openai.OpenAI(base_url=f"http://127.0.0.1:{server.port}/v1", api_key="none", max_retries=0)
    assert [model.id for model in client.models.list()] == ["m"]
    assert client.models.retrieve("m").id == "m"
    ask = dict(model="m", messages=[{"role": "user", "content": "What is a compiler? One sentence."}], temperature=0)

    whole = client.chat.completions.create(**ask, max_tokens=24)
    choice = whole.choices[0]
    assert choice.message.role == "assistant" and choice.message.content and choice.finish_reason == "length"
    assert whole.usage.completion_tokens == 24 and whole.usage.total_tokens == whole.usage.prompt_tokens + 24
    chunks = list(client.chat.completions.create(**ask, max_tokens=24, stream=True, stream_options={"include_usage": True}))
    assert chunks[0].choices[0].delta.role == "assistant"
    streamed = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
    assert streamed == choice.message.content, f"{streamed!r} is not {choice.message.content!r}"
    assert chunks[-1].choices == [] and chunks[-1].usage.completion_tokens == 24
    assert all(c.usage is None for c in chunks[:-1]) and len({c.id for c in chunks}) == 1
    assert [c.choices[0].finish_reason for c in chunks if c.choices][-1] == "length"

    stopped = client.chat.completions.create(**ask, max_tokens=60, stop=["software", "."])
    assert "software" not in stopped.choices[0].message.content and stopped.choices[0].finish_reason == "stop"
    several = client.chat.completions.create(**{**ask, "temperature": 1}, n=3, seed=7, max_completion_tokens=12)
    again = client.chat.completions.create(**{**ask, "temperature": 1}, n=3, seed=7, max_completion_tokens=12)
    texts = [c.message.content for c in several.choices]
    assert texts == [c.message.content for c in again.choices], "the same seed gave another text"
    assert len(set(texts)) == 3, f"choices are alike: {texts}"
    probable = client.chat.completions.create(**ask, max_tokens=4, logprobs=True, top_logprobs=3)
    for token in probable.choices[0].logprobs.content:
        assert token.logprob <= 0 and len(token.top_logprobs) == 3 and token.top_logprobs[0].token == token.token
        assert bytes(token.bytes).decode(errors="replace") == token.token
    biased = client.chat.completions.create(**ask, max_tokens=4, logit_bias={"504": 100})
    assert len(set(biased.choices[0].message.content.split())) == 1, biased.choices[0].message.content

    done = client.completions.create(model="m", prompt=[PROMPT, "One two three"], max_tokens=8, temperature=0, logprobs=2, n=2)
    assert [c.index for c in done.choices] == [0, 1, 2, 3] and done.choices[0].text == done.choices[1].text
    assert len(done.choices[0].logprobs.tokens) == 8
    echoed = client.completions.create(model="m", prompt=PROMPT, max_tokens=4, temperature=0, echo=True)
    assert echoed.choices[0].text.startswith(PROMPT)
    ids = server.post("/tokenize", {"prompt": PROMPT})[2]["tokens"]
    from_ids = client.completions.create(model="m", prompt=ids, max_tokens=8, temperature=0)
    assert from_ids.choices[0].text == done.choices[0].text

    said = client.responses.create(model="m", input="Say hello.", instructions="Be brief.", max_output_tokens=300, temperature=0)
    assert said.status == "completed" and said.output_text and said.usage.output_tokens > 0
    with client.responses.stream(model="m", input="Say hello.", instructions="Be brief.", max_output_tokens=300, temperature=0) as events:
        numbers = [event.sequence_number for event in events]
        final = events.get_final_response()
    assert numbers == list(range(len(numbers))) and final.output_text == said.output_text
    for kind, call in ((openai.NotFoundError, {"model": "nope"}), (openai.BadRequestError, {"temperature": -1}),
                       (openai.BadRequestError, {"messages": []}), (openai.BadRequestError, {"max_tokens": 10 ** 6})):
        try:
            client.chat.completions.create(**{**ask, **call})
            raise AssertionError(f"{call} was taken")
        except kind as error:
            assert error.body["message"] and error.body["param"], error.body


def openai_async(server):
    """Sixteen concurrent streams through the asynchronous client: each gets the answer that it gets by itself."""
    import asyncio
    import openai

    async def one(client, seed):
        stream = await client.completions.create(model="m", prompt=words(30, seed), max_tokens=16, temperature=0, stream=True)
        return "".join([chunk.choices[0].text async for chunk in stream])

    async def together():
        async with openai.AsyncOpenAI(base_url=f"http://127.0.0.1:{server.port}/v1", api_key="none", max_retries=0) as client:
            return await asyncio.gather(*(one(client, seed) for seed in range(16)))

    alone = [server.complete(words(30, seed), max_tokens=16)["choices"][0]["text"] for seed in range(16)]
    assert asyncio.run(together()) == alone, "an answer depends on its batch"


def anthropic_client(server):
    import anthropic
    client = anthropic.Anthropic(base_url=f"http://127.0.0.1:{server.port}", api_key="none", max_retries=0)
    ask = dict(model="m", max_tokens=16, system="Be brief.", messages=[{"role": "user", "content": [{"type": "text", "text": "Tell me a long story about a dog."}]}],
               extra_body={"temperature": 0})
    whole = client.messages.create(**ask)
    assert whole.content[0].type == "text" and whole.stop_reason == "max_tokens" and whole.usage.output_tokens == 16
    with client.messages.stream(**ask) as stream:
        text = "".join(stream.text_stream)
        final = stream.get_final_message()
    assert text == whole.content[0].text == final.content[0].text and final.stop_reason == "max_tokens"
    stopped = client.messages.create(**{**ask, "max_tokens": 60}, stop_sequences=["dog", "."])
    assert stopped.stop_reason == "stop_sequence" and stopped.stop_sequence in ("dog", ".")
    assert client.messages.count_tokens(model="m", messages=ask["messages"]).input_tokens > 5
    try:
        client.messages.create(**{**ask, "max_tokens": -1})
        raise AssertionError("max_tokens -1 was taken")
    except anthropic.BadRequestError as error:
        assert error.body["type"] == "error" and "max_tokens" in error.body["error"]["message"], error.body


def structured(server):
    """Constrained answers: JSON schema, JSON object, regex, choice, GBNF; in one batch with unconstrained ones."""
    import openai
    client = openai.OpenAI(base_url=f"http://127.0.0.1:{server.port}/v1", api_key="none", max_retries=0)
    schema = {"type": "object", "additionalProperties": False, "required": ["name", "age", "kind"],
              "properties": {"name": {"type": "string", "maxLength": 12}, "age": {"type": "integer", "minimum": 0, "maximum": 150},
                             "kind": {"enum": ["cat", "dog"]}}}
    ask = dict(model="m", messages=[{"role": "user", "content": "Describe a pet as JSON."}], max_tokens=120)

    def with_schema(seed):
        answer = client.chat.completions.create(**ask, temperature=1, seed=seed, response_format={
            "type": "json_schema", "json_schema": {"name": "pet", "schema": schema, "strict": True}})
        pet = json.loads(answer.choices[0].message.content)
        assert answer.choices[0].finish_reason == "stop" and set(pet) == {"name", "age", "kind"}, pet
        assert isinstance(pet["age"], int) and 0 <= pet["age"] <= 150 and pet["kind"] in ("cat", "dog") and len(pet["name"]) <= 12, pet
        return pet

    def free(seed):
        return server.complete(words(20, seed), max_tokens=24)["choices"][0]["text"]

    expected = [free(seed) for seed in range(4)]
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        pets, texts = pool.map(with_schema, range(8)), pool.map(free, range(4))
        pets, texts = list(pets), list(texts)
    assert texts == expected, "a free answer changes beside constrained ones"
    assert pets == [with_schema(seed) for seed in range(8)], "a constrained answer depends on its batch"
    json.loads(client.chat.completions.create(**ask, temperature=0, response_format={"type": "json_object"}).choices[0].message.content)

    def guided(**extra):
        return server.post("/v1/completions", {"prompt": "Answer:", "max_tokens": 40, "temperature": 1, "seed": 5, **extra})[2]["choices"][0]["text"]
    assert re.fullmatch("[0-9]{3}-[0-9]{4}", guided(guided_regex="[0-9]{3}-[0-9]{4}"))
    assert guided(guided_choice=["yes", "no", "maybe so"]) in ("yes", "no", "maybe so")
    assert re.fullmatch("(ab){1,3}c", guided(grammar='root ::= "ab" ("ab" | "abab")? "c"'))
    for bad in ({"guided_regex": "(a"}, {"guided_json": {"type": "wat"}}, {"grammar": "root ::= missing"}, {"guided_regex": "a", "guided_choice": ["b"]}):
        status, _, answer = server.post("/v1/completions", {"prompt": "a", **bad})
        assert status == 400 and answer["error"]["param"] in bad, (status, answer)


def searches(server):
    """Beam search and contrastive search through the official client: scores, batch
    composition, streams, disconnects."""
    import openai
    client = openai.OpenAI(base_url=f"http://127.0.0.1:{server.port}/v1", api_key="none", max_retries=0)

    def ask(prompt, n=1, **extra):
        return client.completions.create(model="m", prompt=prompt, max_tokens=12, temperature=0, logprobs=0, n=n, extra_body={"ignore_eos": True, **extra})

    def score(choice):
        return sum(choice.logprobs.token_logprobs)

    prompts = [words(20 + 5 * i, 70 + i) for i in range(6)]
    better = 0
    for prompt in prompts[:3]:
        greedy = score(ask(prompt).choices[0])
        found = ask(prompt, n=3, use_beam_search=True, beam_width=6)
        scores = [score(choice) for choice in found.choices]
        assert scores == sorted(scores, reverse=True) and scores[0] >= greedy - 1e-4, (scores, greedy)
        assert len({choice.text for choice in found.choices}) == 3 and found.usage.completion_tokens == 36
        better += scores[0] > greedy + 1e-4
    one = ask(prompts[0], use_beam_search=True).choices[0]
    assert one.text == ask(prompts[0]).choices[0].text, "a beam of one is not greedy"

    beams = {"use_beam_search": True, "beam_width": 4}
    contrastive = {"penalty_alpha": 0.6, "top_k": 4}
    alone = [ask(prompt, **extra).choices[0].text for prompt in prompts for extra in (beams, contrastive, {})]
    with concurrent.futures.ThreadPoolExecutor(18) as pool:
        together = list(pool.map(lambda job: ask(job[0], **job[1]).choices[0].text,
                                 [(prompt, extra) for prompt in prompts for extra in (beams, contrastive, {})]))
    assert together == alone, "an answer depends on its batch"
    assert any(alone[i + 1] != alone[i + 2] for i in range(0, len(alone), 3)), "the penalty has no effect"

    for extra in (beams, contrastive):
        whole = client.chat.completions.create(model="m", messages=[{"role": "user", "content": "Name a colour."}], max_tokens=16, temperature=0, extra_body=extra)
        chunks = client.chat.completions.create(model="m", messages=[{"role": "user", "content": "Name a colour."}], max_tokens=16, temperature=0,
                                                stream=True, extra_body=extra)
        assert "".join(c.choices[0].delta.content or "" for c in chunks) == whole.choices[0].message.content
        stream = Stream(server, prompts[0], max_tokens=600, ignore_eos=True, **extra)
        time.sleep(0.1)
        stream.leave()
    freed = server.idle()
    assert server.metric("ingot:kv_pages_used") == 0
    guided = server.post("/v1/completions", {"prompt": "Answer:", "max_tokens": 8, "n": 2, **beams, "guided_choice": ["yes", "no", "maybe"]})[2]
    assert {choice["text"] for choice in guided["choices"]} <= {"yes", "no", "maybe"}, guided
    for field, body in (("beam_width", {**beams, "beam_width": 9}), ("beam_width", {**beams, "n": 5}), ("temperature", {**beams, "temperature": 0.7}),
                        ("penalty_alpha", {**beams, "penalty_alpha": 0.5}), ("top_k", {**contrastive, "top_k": 50}), ("n", {**contrastive, "n": 2}),
                        ("length_penalty", {"length_penalty": 2})):
        status, _, answer = server.post("/v1/completions", {"prompt": "a", "max_tokens": 2, **body})
        assert status == 400 and answer["error"]["param"] == field, (field, status, answer)
    status, _, answer = server.post("/v1/completions", {"prompt": "a", "max_tokens": 100_000, **beams})
    assert status == 400 and answer["error"]["code"] == "context_length_exceeded", answer
    return f"beams beat greedy on {better} of 3, all freed after {freed * 1000:.0f} ms"


def tools(server):
    """tool_choice forces calls, streamed and not, whose arguments match the schema; through both clients."""
    import anthropic
    import openai
    client = openai.OpenAI(base_url=f"http://127.0.0.1:{server.port}/v1", api_key="none", max_retries=0)
    parameters = {"type": "object", "properties": {"city": {"type": "string", "maxLength": 20}, "unit": {"enum": ["C", "F"]}},
                  "required": ["city", "unit"], "additionalProperties": False}
    tool = {"type": "function", "function": {"name": "get_weather", "description": "The weather of a city", "parameters": parameters}}
    other = {"type": "function", "function": {"name": "get_time", "parameters": {"type": "object", "properties": {}, "additionalProperties": False}}}
    ask = dict(model="m", messages=[{"role": "user", "content": "What is the weather in Paris?"}], max_tokens=200, temperature=0, tools=[tool, other])
    named = {"type": "function", "function": {"name": "get_weather"}}
    whole = client.chat.completions.create(**ask, tool_choice=named).choices[0]
    assert whole.finish_reason == "tool_calls" and len(whole.message.tool_calls) == 1, whole
    call = whole.message.tool_calls[0]
    arguments = json.loads(call.function.arguments)
    assert call.function.name == "get_weather" and arguments["unit"] in ("C", "F") and set(arguments) == {"city", "unit"}
    name, text, ids = "", "", set()
    for chunk in client.chat.completions.create(**ask, tool_choice=named, stream=True):
        for delta in chunk.choices[0].delta.tool_calls or []:
            name += delta.function.name or ""
            text += delta.function.arguments or ""
            ids |= {delta.id} - {None}
            assert delta.index == 0
    assert name == "get_weather" and text == call.function.arguments and len(ids) == 1, (name, text, ids)
    some = client.chat.completions.create(**{**ask, "max_tokens": 400}, tool_choice="required", parallel_tool_calls=False).choices[0]
    assert some.message.tool_calls and some.message.tool_calls[0].function.name in ("get_weather", "get_time")
    after = client.chat.completions.create(model="m", max_tokens=8, tools=[tool], tool_choice="none", messages=ask["messages"] + [
        {"role": "assistant", "content": None, "tool_calls": [call.model_dump()]}, {"role": "tool", "tool_call_id": call.id, "content": "21 C"}])
    assert after.choices[0].message.content and not after.choices[0].message.tool_calls
    claude = anthropic.Anthropic(base_url=f"http://127.0.0.1:{server.port}", api_key="none", max_retries=0)
    used = claude.messages.create(model="m", max_tokens=200, messages=ask["messages"], extra_body={"temperature": 0}, tool_choice={"type": "tool", "name": "get_weather"},
                                  tools=[{"name": "get_weather", "input_schema": parameters}])
    assert used.stop_reason == "tool_use" and used.content[-1].type == "tool_use" and used.content[-1].input == arguments, used
    said = client.responses.create(model="m", input="What is the weather in Paris?", temperature=0, tool_choice={"type": "function", "name": "get_weather"},
                                   tools=[{"type": "function", "name": "get_weather", "description": "The weather of a city", "parameters": parameters, "strict": True}])
    assert [item.type for item in said.output] == ["function_call"] and set(json.loads(said.output[0].arguments)) == {"city", "unit"}


def every_field(server):
    """Every field of every route with every bad value: 200, or 400 that names the field."""
    count, wrong = 0, []
    connection = server.connect()
    for path, base, table in fields.ROUTES:
        for name, kind in table.items():
            for label, body in fields.variants(base, name, kind):
                status, _, answer = server.post(path, body, connection=connection)
                count += 1
                if status == 200:
                    continue
                error = answer.get("error", {}) if isinstance(answer, dict) else {}
                named = error if isinstance(error, str) else f"{error.get('param')} {error.get('message')}"  # Ollama: strings
                # If a field makes the prompt too long, the error names the prompt.
                blamed = {name.split(".")[0], *(("messages", "input", "prompt") if "1 MiB" in label else ())}
                if status not in (400, 404) or not (any(part in named for part in blamed) or label.startswith("no JSON")):
                    wrong.append(f"{path} {name} {label}: {status} {str(answer)[:200]}")
        status, _, answer = server.post(path, base, connection=connection)
        assert status == 200, f"{path}: a good request after the bad ones is answered {status}: {answer}"
    assert not wrong, f"{len(wrong)} of {count}:\n" + "\n".join(wrong[:20])
    return f"{count} requests"


def never_fits(server):
    """A request that can never fit is refused at once, with the numbers."""
    start = time.monotonic()
    for body in ({"prompt": "a", "max_tokens": 100_000}, {"prompt": [500] * 9000, "max_tokens": 1}):
        status, _, answer = server.post("/v1/completions", body)
        assert status == 400 and any(c.isdigit() for c in answer["error"]["message"]), answer
        assert answer["error"]["code"] == "context_length_exceeded", answer
    took = time.monotonic() - start
    assert took < 1, f"refused after {took:.2f} s"


def leaving(server, streams, leavers):
    """Some of many streams disconnect at random moments: the others stay exact, and all KV pages are freed."""
    prompts = [words(12, 1000 + i) for i in range(streams)]
    expected = {}
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        for prompt, answer in zip(prompts, pool.map(lambda p: server.complete(p, max_tokens=24)["choices"][0]["text"], prompts)):
            expected[prompt] = answer
    source = random.Random(3)
    gone = set(source.sample(range(streams), leavers))

    def run(i):
        stream = Stream(server, prompts[i], max_tokens=24)
        if i not in gone:
            return stream.text()
        time.sleep(random.Random(i).uniform(0, 0.8))
        stream.leave()
        return None

    with concurrent.futures.ThreadPoolExecutor(streams) as pool:
        texts = list(pool.map(run, range(streams)))
    wrong = [i for i in range(streams) if i not in gone and texts[i] != expected[prompts[i]]]
    assert not wrong, f"{len(wrong)} of {streams - leavers} answers differ: {wrong[:5]}"
    freed = server.idle()
    return f"all freed after {freed * 1000:.0f} ms"


def cancelled_at_once(server):
    """A client that disconnects frees its sequence slot within a step."""
    times = []
    for i in range(5):
        stream = Stream(server, PROMPT, max_tokens=3000, ignore_eos=True)
        next(stream.events())
        start = time.monotonic()
        stream.leave()
        server.idle(2)
        times.append(time.monotonic() - start)
    assert statistics.median(times) < 0.1, f"{times}"
    return f"median {statistics.median(times) * 1000:.0f} ms"


def overload(ingot, engine):
    """Ten times the queue at once: the excess gets 429 with Retry-After, quickly; the rest is answered."""
    running, queue = 4, 8
    with Server(ingot, engine, "--max-seqs", running, "--queue", queue) as server:
        server.complete(PROMPT, max_tokens=4)
        # Fill all sequence slots first, so that the count is exact.
        holders = [Stream(server, words(20, i), max_tokens=400, ignore_eos=True) for i in range(running + queue)]
        deadline = time.monotonic() + 10
        while server.metric("vllm:num_requests_running") + server.metric("vllm:num_requests_waiting") < running + queue:
            assert time.monotonic() < deadline, "the places do not fill"
            time.sleep(0.01)

        def refused(i):
            start = time.monotonic()
            status, headers, answer = server.post("/v1/completions", {"prompt": words(20, i), "max_tokens": 8})
            return status, headers.get("Retry-After"), time.monotonic() - start, answer

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            answers = list(pool.map(refused, range(10 * queue)))
        assert all(a[0] == 429 and int(a[1]) >= 1 for a in answers), [a for a in answers if a[0] != 429][:2]
        slowest = max(a[2] for a in answers)
        for holder in holders:
            assert holder.text()
        server.idle()
        assert server.complete(PROMPT, max_tokens=4)
    assert statistics.median(a[2] for a in answers) < 0.05, f"median {statistics.median(a[2] for a in answers):.3f} s"
    return f"refused in {statistics.median(a[2] for a in answers) * 1000:.1f} ms, at most {slowest * 1000:.0f}"


def squeezed(ingot, engine, count):
    """Several times more KV requested than exists: all requests progress, and preemption changes no token."""
    source = random.Random(6)
    jobs = [(words(source.randint(20, 160), k), source.randint(40, 160), 1 + k % 3) for k in range(count)]

    def ask(server, job):
        prompt, most, choices = job
        answer = server.complete(prompt, max_tokens=most, n=choices, temperature=0.8, seed=7, ignore_eos=True)
        return [choice["text"] for choice in answer["choices"]]

    with Server(ingot, engine) as server:
        expected = [ask(server, job) for job in jobs]
    seen = []
    for swap in ("0", "1G"):
        with Server(ingot, engine, "--kv-memory", "32M", "--context", 1024, "--swap", swap, "--no-prefix-cache") as server:
            with concurrent.futures.ThreadPoolExecutor(count) as pool:
                texts = list(pool.map(lambda job: ask(server, job), jobs))
            wrong = [k for k in range(count) if texts[k] != expected[k]]
            assert not wrong, f"--swap {swap}: {len(wrong)} of {count} answers differ: {wrong[:5]}"
            seen.append(int(server.metric("vllm:num_preemptions_total")))
            server.idle()
            assert server.metric("ingot:kv_pages_used") == 0
    assert min(seen) > 0, "the KV was enough: nothing is shown"
    return f"{seen[0]} preemptions by recompute, {seen[1]} with room to swap"


def drained(ingot, engine):
    """SIGTERM: running requests finish, queued and new ones get 503, exit 0; a second SIGTERM ends it at
    once."""
    with Server(ingot, engine, "--max-seqs", 4) as server:
        streams = [Stream(server, words(10, i), max_tokens=150, ignore_eos=True) for i in range(8)]
        deadline = time.monotonic() + 10
        while server.metric("vllm:num_requests_running") < 4 or server.metric("vllm:num_requests_waiting") < 4:
            assert time.monotonic() < deadline, "the requests do not start"
            time.sleep(0.01)
        assert server.get("/health")[0] == 200
        server.process.send_signal(signal.SIGTERM)
        time.sleep(0.05)
        assert server.get("/health")[0] == 503
        assert server.post("/v1/completions", {"prompt": "a"})[0] == 503
        ends = []
        for stream in streams:
            events = list(stream.events()) if stream.head() == 200 else [{"error": {"code": "E0561"}}]
            ends.append("error" if "error" in events[-1] else events[-1]["choices"][0]["finish_reason"])
        code = server.process.wait(40)
        assert code == 0, f"exit code {code}"
        assert sorted(ends) == ["error"] * 4 + ["length"] * 4, ends
    with Server(ingot, engine) as server:
        stream = Stream(server, PROMPT, max_tokens=3500, ignore_eos=True)
        next(stream.events())
        server.process.send_signal(signal.SIGTERM)
        time.sleep(0.3)
        start = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(10) == 0
        took = time.monotonic() - start
        assert took < 1, f"the second SIGTERM took {took:.1f} s"
    with Server(ingot, engine) as server, concurrent.futures.ThreadPoolExecutor(1) as pool:
        asked = pool.submit(server.post, "/v1/embeddings", {"input": [[500 + i] for i in range(600)]})
        while server.metric("vllm:request_success_total") < 40:
            time.sleep(0.01)
        server.process.send_signal(signal.SIGTERM)
        status, _, answer = asked.result()
        assert status == 200 and len(answer["data"]) == 600, f"a request under way was broken off: {status}"
        assert server.process.wait(40) == 0


def restarted(ingot, engine):
    """After SIGKILL: ready again within 2 s, with the same answers."""
    with Server(ingot, engine) as server:
        first = server.complete(PROMPT, max_tokens=16)["choices"][0]["text"]
        Stream(server, PROMPT, max_tokens=3000)
        server.process.kill()
        server.process.wait()
    with Server(ingot, engine) as server:
        assert server.complete(PROMPT, max_tokens=16)["choices"][0]["text"] == first
        assert server.ready_after < 2, f"ready after {server.ready_after:.2f} s"
        return f"ready after {server.ready_after:.2f} s"


def swapped(ingot, engine, other):
    """Hot swap: SIGHUP loads the file's current version; no request is dropped."""
    import shutil
    path = ingot.work / "swap.ingot"
    shutil.copyfile(engine, path)
    with Server(ingot, path) as server:
        before = server.complete(PROMPT, max_tokens=16)
        fingerprint = before["system_fingerprint"]
        stream = Stream(server, PROMPT, max_tokens=400, ignore_eos=True)
        next(stream.events())
        fresh = ingot.work / "swap.new"
        shutil.copyfile(other, fresh)
        fresh.rename(path)
        server.process.send_signal(signal.SIGHUP)
        answered, deadline = 0, time.monotonic() + 20
        while server.complete(PROMPT, max_tokens=4)["system_fingerprint"] == fingerprint:
            answered += 1
            assert time.monotonic() < deadline, "the new engine does not take over"
        assert len(stream.text()) > 100, "the old engine's request was dropped"
        fresh.write_bytes(b"no engine")
        fresh.rename(path)
        server.process.send_signal(signal.SIGHUP)
        time.sleep(0.2)
        assert server.complete(PROMPT, max_tokens=4), "a bad file took the service down"
        return f"{answered} answers by the old one meanwhile"


def hung(ingot, engine):
    """A step beyond its limit: requests in progress get 503 engine_error, /health
    returns 503, the server ends with exit code 4."""
    long = [500 + k for k in range(1900)]  # in steps of up to a tenth of a second, each longer than the limit
    with Server(ingot, engine, "--step-limit", 0.005) as server:
        start = time.monotonic()
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            asked = [pool.submit(server.post, "/v1/completions", {"prompt": long[k:], "max_tokens": 4}) for k in range(3)]
            answers = [one.result() for one in asked]
        for status, _, answer in answers:
            assert status == 503 and answer["error"]["type"] == "engine_error" and answer["error"]["code"] == "E0725", (status, answer)
        status, _, answer = server.get("/health")
        assert status == 503 and answer["error"]["code"] == "E0725", (status, answer)
        code = server.process.wait(20)
        took = time.monotonic() - start
        assert code == 4 and 1 < took < 10, f"exit code {code} after {took:.1f} s"
        assert "E0725" in server.log.read_text()
    return f"ended after {took:.1f} s"


def suspended(ingot, engine):
    """A suspended process is not a hanging one: the watchdog does not count that time."""
    with Server(ingot, engine, "--step-limit", 1.5) as server:
        expected = server.complete(PROMPT, max_tokens=200, ignore_eos=True)["choices"][0]["text"]
        stream = Stream(server, PROMPT, max_tokens=200, ignore_eos=True)
        events = stream.events()
        text = next(events)["choices"][0]["text"]
        server.process.send_signal(signal.SIGSTOP)
        time.sleep(3)
        server.process.send_signal(signal.SIGCONT)
        for event in events:
            assert "error" not in event, event
            text += event["choices"][0]["text"]
        assert text == expected
        assert server.get("/health")[0] == 200


def many_embeddings(server):
    """As many inputs as OpenAI allows, which is more than the queue holds: each result is the same as by itself, and
    other requests are served meanwhile."""
    source = random.Random(5)
    inputs = [[source.randrange(100, 40_000) for _ in range(source.randint(1, 3))] for _ in range(2048)]
    refused = server.metric("ingot:requests_refused_total")
    start = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        asked = pool.submit(server.post, "/v1/embeddings", {"input": inputs, "encoding_format": "base64"})
        between = time.monotonic()
        assert server.complete(PROMPT, max_tokens=4)
        between = time.monotonic() - between
        status, _, answer = asked.result()
    assert status == 200, answer
    took = time.monotonic() - start
    assert [one["index"] for one in answer["data"]] == list(range(2048))
    assert answer["usage"]["prompt_tokens"] == sum(map(len, inputs))
    for i in (0, 1, 500, 2047):
        alone = server.post("/v1/embeddings", {"input": inputs[i], "encoding_format": "base64"})[2]["data"][0]["embedding"]
        assert alone == answer["data"][i]["embedding"], f"embedding {i} depends on its batch"
    status, _, answer = server.post("/v1/embeddings", {"input": inputs + [[1]]})
    assert status == 400 and "2048" in answer["error"]["message"], answer
    leaver = server.connect()  # its other inputs are not computed
    leaver.request("POST", "/v1/embeddings", json.dumps({"input": inputs}), {"Content-Type": "application/json"})
    time.sleep(0.3)
    leaver.close()
    assert server.idle() < 1
    assert server.metric("ingot:kv_pages_used") == 0
    assert server.metric("ingot:requests_refused_total") == refused, "refusals are counted that nobody was told of"
    return f"{took:.1f} s, another request meanwhile {between:.2f} s"


def keyed(ingot, engine):
    """With keys, only /health answers without one."""
    with Server(ingot, engine, "--api-key", "secret-1", "--api-key", "secret-2") as server:
        routes = [("GET", p) for p in ("/v1/models", "/metrics", "/version", "/", "/live.json")]
        routes += [("POST", path) for path, _, _ in fields.ROUTES]
        for method, path in routes:
            wrong = ({"Authorization": "Bearer wrong"}, {"Authorization": "Bearer secret-"}, {"x-api-key": "secret-11"})
            # Wrong keys are tried on two routes only, because answers are delayed after several.
            for headers in ({}, *(wrong if path in ("/v1/models", "/v1/completions") else ())):
                status = server.request(method, path, {} if method == "POST" else None, headers=headers)[0]
                assert status == 401, f"{method} {path} with {headers}: {status}"
        assert server.get("/health")[0] == 200
        for headers in ({"Authorization": "Bearer secret-1"}, {"x-api-key": "secret-2"}):
            assert server.request("GET", "/v1/models", headers=headers)[0] == 200


def add(suite, ingot, checkpoint, long):
    engine, other = checkpoint.engines["fast"], checkpoint.engines["exact"]
    try:
        with Server(ingot, engine) as server:
            suite.check("serve: the openai client's own calls", lambda: openai_client(server))
            suite.check("serve: the openai client, 16 streams at once", lambda: openai_async(server))
            suite.check("serve: the anthropic client's own calls", lambda: anthropic_client(server))
            suite.check("serve: answers that match a grammar", lambda: structured(server))
            suite.check("serve: tool calls", lambda: tools(server))
            clients.add(suite, ingot, engine, server)
            replay.add(suite, server)
            suite.check("serve: beam search and contrastive search", lambda: searches(server))
            suite.check("serve: 2,048 embeddings in one request", lambda: many_embeddings(server))
            suite.check("serve: every field with every bad value", lambda: every_field(server))
            suite.check("serve: what never fits", lambda: never_fits(server))
            suite.check("serve: a client that leaves frees its place", lambda: cancelled_at_once(server))
            suite.check("serve: 64 streams, 16 leave" if not long else "serve: 256 streams, 64 leave",
                        lambda: leaving(server, *((256, 64) if long else (64, 16))))
    except AssertionError as error:
        suite.check("serve: starts and ends", lambda why=error: (_ for _ in ()).throw(why))
    suite.check("serve: ten times the queue", lambda: overload(ingot, engine))
    suite.check("serve: more KV asked for than there is", lambda: squeezed(ingot, engine, 48 if long else 16))
    suite.check("serve: SIGTERM drains", lambda: drained(ingot, engine))
    suite.check("serve: SIGKILL and again", lambda: restarted(ingot, engine))
    suite.check("serve: an engine is swapped under load", lambda: swapped(ingot, engine, other))
    suite.check("serve: a step that does not end", lambda: hung(ingot, engine))
    suite.check("serve: a server that was stopped for a while", lambda: suspended(ingot, engine))
    suite.check("serve: keys", lambda: keyed(ingot, engine))

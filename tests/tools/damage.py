"""damage.py HOW… -- FOLDER: damages the first files of a folder, in order of their names, one per HOW.

  cut    removes the last byte      flip   flips a bit a third of the way in (in an engine: of a weight)
  empty  removes all bytes          swap   replaces the bytes by those of the next file
"""
import pathlib
import sys

ways, folder = sys.argv[1:-2], pathlib.Path(sys.argv[-1])
files = sorted(folder.iterdir())
contents = [path.read_bytes() for path in files]
if len(files) < len(ways):
    sys.exit(f"{folder} has {len(files)} files")
for i, (path, how) in enumerate(zip(files, ways)):
    data = bytearray(contents[i])
    if how == "cut":
        data.pop()
    elif how == "empty":
        data.clear()
    elif how == "flip":
        data[len(data) // 3] ^= 16
    elif how == "swap":
        data = contents[(i + 1) % len(files)]
    path.write_bytes(data)

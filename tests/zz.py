import asyncio, time, sys, glob
from lsp.wire import *
from pathlib import Path
path=Path(glob.glob('/tmp/big/*/llama3_70b*/module_0000*-live-range.txt')[0])
async def main():
    for delay in (0.5,1,2,3,3.5,4,4.5,5,5.5,6,7):
        s=await Process.start()
        await s.initialize(RICH)
        s.notify("textDocument/didOpen", {"textDocument": {"uri":path.as_uri(),"languageId":"x","version":1,"text":path.read_text()}})
        n=s.ask("textDocument/hover",{"textDocument":{"uri":path.as_uri()},"position":{"line":3,"character":5}})
        await asyncio.sleep(delay)
        done=bool(s.answers(n))
        t=time.monotonic()
        if int(delay*2)%2: s.hang_up()
        else: s.ask("shutdown"); s.notify("exit")
        r=await s.ended()
        print(delay, done, r, round(time.monotonic()-t,2), s.answers(n))
asyncio.run(main())

import { Connection } from '../../../server/adapters/workers/connection'
import { exitWith, readParent } from '../../../server/adapters/workers/parent'
import { PassOn } from '../../../server/http/pass-on'

/** A worker that passes all on, on the shared PORT; with HANGS it does not finish. */
const parent = await readParent()
const { name, key, instance, socket } = parent.credential
const connection = new Connection({
  addresses: [{ unix: socket }],
  credential: name,
  key,
  instance,
  version: '1.2.3',
  onPush: () => undefined,
  warn: () => undefined,
})
const passOn = new PassOn({ target: () => connection.passOn(), ca: null, now: Date.now })
while (!connection.isReady) await Bun.sleep(1)
const web = Bun.serve({
  hostname: '127.0.0.1',
  port: Number(process.env['PORT']),
  reusePort: true,
  async fetch(request, served) {
    const answer = await passOn.answer(request, served)
    answer.headers.set('x-pid', String(process.pid))
    return answer
  },
})
const finish = async () => {
  if (process.env['HANGS']) await new Promise(() => undefined)
  await web.stop()
  connection.tell('note', ['last'])
  await connection.flush(1000)
}
await exitWith(parent.ended, finish, () => (process.env['HANGS'] === 'short' ? 100 : 60_000))

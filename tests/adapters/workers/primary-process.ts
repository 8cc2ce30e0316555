import { Children } from '../../../server/adapters/workers/children'
import { localPrimary } from '../../../server/adapters/workers/primary-address'
import { WorkerServer } from '../../../server/adapters/workers/worker-server'
import { fromWorkers } from '../../../server/http/middleware/caller/passed-on'

/** A primary with workers, for tests that kill it: PORT COUNT. Each line of its output is an event. */
const [port, count] = process.argv.slice(2).map(Number)
const say = (...words: unknown[]) => console.log(JSON.stringify(words))
const { unix } = localPrimary(port ?? 0)
/** How fast its clock goes. */
const speed = Number(process.env['SPEED'] ?? 1)
const internal = Bun.serve({
  hostname: '127.0.0.1',
  port: 0,
  fetch: fromWorkers(
    (token) => server.isToken(token),
    Date.now,
    ({ url }) => new Response(new URL(url).pathname),
  ),
})
const children = new Children({
  count: count ?? 1,
  command: [process.execPath, `${import.meta.dir}/worker-process.ts`],
  environment: { ...process.env, PORT: String(port) },
  socket: unix,
  onGone: async (instance) => {
    await server.gone(instance)
    say('gone', instance)
  },
  warn: (message, fields) => say('warn', message, fields),
  firstPauseMs: 20,
})
const server: WorkerServer = new WorkerServer({
  listeners: [{ at: { unix }, keyOf: (name) => children.keyOf(name), passOnPort: Number(internal.port) }],
  version: '1.2.3',
  epoch: 1,
  onLost: (instance) => children.kill(instance),
  now: () => performance.now() * speed,
  warn: (message, fields) => say('warn', message, fields),
  serve({ credential, instance }) {
    say('serves', credential, instance, Reflect.get(children, 'children').get(credential)?.process.pid)
    return {
      count: 0,
      answer: async (_kind, payload) => payload,
      take: (kind, payload) => say('took', kind, ...payload),
      sweep: () => undefined,
      end: async () => say('settled', instance),
    }
  },
})
server.listen()
children.start()
for await (const line of console) {
  if (line !== 'stop') continue
  await children.stop(process.env['HANGS'] ? 300 : 30_000)
  await server.close()
  say('stopped')
  process.exit(0)
}

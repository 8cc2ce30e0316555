import { Connection } from '../../../server/adapters/workers/connection'
import { exitWith, readParent } from '../../../server/adapters/workers/parent'

/** A worker that does nothing; with HANGS it does not finish. */
const parent = await readParent()
const { name, key, instance, socket } = parent.credential
const connection = new Connection({
  address: { unix: socket },
  credential: name,
  key,
  instance,
  version: '1.2.3',
  onPush: () => undefined,
  onDrain: () => undefined,
  warn: () => undefined,
})
const finish = async () => {
  if (process.env['HANGS']) await new Promise(() => undefined)
  connection.tell('note', ['last'])
  await connection.flush(1000)
}
await exitWith(parent, finish, process.env['HANGS'] === 'short' ? 100 : 60_000)

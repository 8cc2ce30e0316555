import { lockDataFolder } from '../../../server/adapters/stores/libsql/driver/file/held-file'

// Takes the folder it is given, forgets what it got, says so, and keeps the folder until it is killed.
await lockDataFolder(process.argv[2] ?? '')
await new Promise((resolve) => setImmediate(resolve))
Bun.gc(true)
process.stdout.write('held\n')
setInterval(() => undefined, 60_000)

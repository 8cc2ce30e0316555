import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { dataFolder, removeFolder, type ServerProcess, signUp, startServer } from '../support/servers/server-process'
import { canTrace, systemCalls } from '../support/servers/system-calls'

const CALLS = 10

describe.skipIf(!canTrace)('the system calls of a charged request', () => {
  let folder = ''
  let server: ServerProcess
  let secret = ''

  beforeAll(async () => {
    folder = await dataFolder()
    server = await startServer(folder)
    const owner = await signUp(server.url, 'ada@example.com')
    secret = (await owner.api('/api/keys', { name: 'traced' })).secret
  })
  afterAll(async () => {
    await server.kill('SIGTERM')
    await removeFolder(folder)
  })

  test('sync the log next to the database to the disk before each 200 is sent: a charge survives a power loss', async () => {
    const lines = await systemCalls(server.pid, ['fdatasync', 'sendto', 'sendmsg', 'write', 'writev'], async () => {
      for (let i = 0; i < CALLS; i++) {
        const answer = await fetch(`${server.url}/apis/v1/websearch/images/search?q=card&count=1`, {
          headers: { authorization: `Bearer ${secret}` },
        })
        expect(answer.status).toBe(200)
        await answer.arrayBuffer()
      }
    })
    let synced = 0
    let sent = 0
    for (const line of lines) {
      if (/fdatasync\(\d+<[^>]*gateway\.db\.log>/.test(line)) synced++
      if (!line.includes('"HTTP/1.1 200 OK')) continue
      sent++
      // Calls go one after the other, so each 200 must find one more sync behind it than the one before.
      expect(synced).toBeGreaterThanOrEqual(sent)
    }
    expect(sent).toBe(CALLS)
  })
})

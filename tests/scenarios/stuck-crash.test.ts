import { afterAll, beforeAll, expect, setDefaultTimeout, test } from 'bun:test'
import { join } from 'node:path'
import type { StuckPage } from '../../server/http/operator/money/stuck-record'
import { executeOn } from '../support/databases/database-file'
import { reconcile } from '../support/reconcile'
import { control, dataFolder, removeFolder, signUp, startServer } from '../support/servers/server-process'

setDefaultTimeout(60_000)

const SEARCH = '/apis/v1/websearch/images/search?q=credit%20card&count=1'
let folder = ''
beforeAll(async () => {
  folder = await dataFolder()
})
afterAll(() => removeFolder(folder))

test('a served call whose charge the tables refuse survives kill -9 at any moment: it is stuck once, and nothing else is', async () => {
  const file = join(folder, 'gateway.db')
  let server = await startServer(folder)
  const owner = await signUp(server.url, 'ada@example.com')
  const { secret } = await owner.api('/api/keys', { name: 'stuck' })
  const call = () => fetch(server.url + SEARCH, { headers: { authorization: `Bearer ${secret}` } })
  const setCredit = (credit: number) => executeOn(file, 'UPDATE accounts SET credit = ?', [credit])
  const listed = async () => ((await (await control(folder, '/stuck')).json()) as StuckPage).records
  await setCredit(0)
  // The log has it, and the tables follow within 200 ms: the kill is before that, in it or after.
  expect((await call()).status).toBe(200)
  await server.kill('SIGKILL')
  server = await startServer(folder)
  expect(await listed()).toHaveLength(1)
  expect([(await call()).status, (await call()).status]).toEqual([503, 503])
  await server.kill('SIGKILL')
  await setCredit(2_000_000)
  server = await startServer(folder)
  const [record, ...others] = await listed()
  expect(others).toEqual([])
  await control(folder, `/stuck/${record?.id}/retry`, {})
  await server.kill('SIGKILL')
  server = await startServer(folder)
  expect([await listed(), (await call()).status]).toEqual([[], 200])
  await server.kill('SIGTERM')
  expect(await reconcile(file)).toMatchObject({ charges: 2, problems: [] })
})

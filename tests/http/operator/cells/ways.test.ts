import { expect, test } from 'bun:test'
import { wayOfCommand, wayOfRoute } from '../../../../server/http/operator/cells/ways'
import { socketCommands } from '../../../../server/http/operator/control'
import { openHarness } from '../../../support/harness'

test('of every route of operators it is said which cells answer it', async () => {
  const gateway = await openHarness()
  const routes = gateway.gateway.app.routes.filter(({ path }) => path.startsWith('/api/operator/'))
  expect(routes.length).toBeGreaterThan(50)
  const unsaid = routes.filter(({ method, path }) => wayOfRoute(method, path) === null)
  expect(unsaid.map(({ method, path }) => `${method} ${path}`)).toEqual([])
  await gateway.close()
})

test('of every command of the control socket it is said which cells answer it', () => {
  const commands = Object.keys(socketCommands({} as never))
  expect(commands.length).toBeGreaterThan(50)
  expect(commands.filter((command) => wayOfCommand(command) === null)).toEqual([])
})

test('a problem of the health of several cells says in which cell it is', () => {
  const way = wayOfRoute('GET', '/api/operator/health')
  if (way?.kind !== 'report') throw new Error('health is a report')
  const health = {
    ready: false,
    codes: [],
    upstreams: [],
    backups: { scheduled: false, newest_at: null, failing: false },
  }
  const answers = ['main', 'c3'].map(() => ({ ...health, problems: [{ part: 'database', reason: 'it is away' }] }))
  expect(way.join(answers, () => null, ['main', 'c3'])).toMatchObject({
    problems: [
      { part: 'database of main', reason: 'it is away' },
      { part: 'database of c3', reason: 'it is away' },
    ],
  })
})

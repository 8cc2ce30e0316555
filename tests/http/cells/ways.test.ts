import { expect, test } from 'bun:test'
import { wayOfCommand, wayOfRoute } from '../../../server/http/operator/cells/ways'
import { socketCommands } from '../../../server/http/operator/control'
import { openHarness } from '../../support/harness'

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

import { expect, test } from 'bun:test'
import type { OwnerSessions } from '../../../../server/http/middleware/caller/owner-session'
import { routeGroup } from '../../../../server/http/middleware/request-context'
import { UNDOCUMENTED } from '../../../../server/http/openapi/documented'
import { RouteTargets } from '../../../../server/http/operator/cells/cell-routing'
import { HEALTH } from '../../../../server/http/operator/cells/report-joins'
import { socketCommands } from '../../../../server/http/operator/control'
import { operatorRoles } from '../../../../server/http/operator/operator-roles'
import type { SocketCommand } from '../../../../server/http/operator/socket-command'
import { ANYBODY, allowed } from '../../../../server/http/routing/api-access'
import { openHarness } from '../../../support/harness'

const PATH = '/api/operator/coupons'
const routes = () => routeGroup({ name: 'coupons' })
const handler = () => ({})
const { operator } = operatorRoles({} as OwnerSessions) // nobody is asked for
const answeredBy = (cells: Parameters<typeof operator>[0]) => allowed(operator(cells), UNDOCUMENTED, handler)

test('every route of operators declares which cells answer it', async () => {
  const gateway = await openHarness()
  const mounted = gateway.gateway.app.routes.filter(({ path }) => path.startsWith('/api/operator/'))
  expect(mounted.length).toBeGreaterThan(50)
  expect(() => new RouteTargets().add(mounted)).not.toThrow()
  await gateway.close()
})

test('a route of operators that does not declare which cells answer it fails the start', () => {
  const silent = `GET ${PATH} does not say which cells answer it`
  expect(() => new RouteTargets().add(routes().get(PATH, handler).routes)).toThrow(silent)
  const open = routes().get(PATH, ...allowed(ANYBODY, UNDOCUMENTED, handler))
  expect(() => new RouteTargets().add(open.routes)).toThrow(silent)
})

test('a route that the cell of an account answers names the account in its path, or fails the start', () => {
  const { routes: mounted } = routes().get(PATH, ...answeredBy('account'))
  expect(() => new RouteTargets().add(mounted)).toThrow('its path names none')
})

test('a HEAD goes where its GET goes, except to several cells: there is no body to join', () => {
  const targets = new RouteTargets()
  const { routes: mounted } = routes()
    .get(PATH, ...answeredBy(HEALTH))
    .get(`${PATH}/:id`, ...answeredBy('account'))
  targets.add(mounted)
  expect(targets.of('GET', PATH)).toBe(HEALTH)
  expect(targets.of('HEAD', PATH)).toBe('main')
  expect(targets.of('HEAD', `${PATH}/:id`)).toBe('account')
})

test('a request never goes to main alone because its route is not known', () => {
  expect(() => new RouteTargets().of('GET', PATH)).toThrow('is no route of operators')
})

test('every command of the control socket declares which cells answer it: another does not compile', () => {
  const commands = Object.entries(socketCommands({} as never))
  expect(commands.length).toBeGreaterThan(50)
  expect(commands.filter(([, { cells }]) => cells === undefined)).toEqual([])
  // @ts-expect-error: it does not say which cells answer it.
  const undeclared: SocketCommand = { run: async () => ({ ok: true, value: {} }) }
  expect(undeclared.cells).toBeUndefined()
})

test('a problem of the health of several cells says in which cell it is', () => {
  const health = {
    ready: false,
    codes: [],
    upstreams: [],
    backups: { scheduled: false, newest_at: null, failing: false },
  }
  const answers = ['main', 'c3'].map(() => ({ ...health, problems: [{ part: 'database', reason: 'it is away' }] }))
  expect(HEALTH.join(answers, () => null, ['main', 'c3'])).toMatchObject({
    problems: [
      { part: 'database of main', reason: 'it is away' },
      { part: 'database of c3', reason: 'it is away' },
    ],
  })
})

import { expect, test } from 'bun:test'
import { zoneComparison, zoneRules } from '../../../server/compose/cluster/zone-rules'
import { nodeReport } from '../../../server/http/operator/nodes/node-record'

test('the fingerprint follows which zones there are and when their clocks change', () => {
  const all = zoneRules()
  expect(all).toMatch(/^[0-9a-f]{16}$/)
  expect(zoneRules()).toBe(all)
  expect(zoneRules(Intl.supportedValuesOf('timeZone').slice(1))).not.toBe(all)
  // The same offset in winter, and another one in summer.
  expect(zoneRules(['Europe/Berlin'])).not.toBe(zoneRules(['Africa/Lagos']))
})

test("a node whose rules are not the owner's logs it once for each owner", () => {
  const lines: unknown[] = []
  const compare = zoneComparison(
    { id: 'node_a', zones: 'one' },
    { warn: (line, fields) => void lines.push([line, fields]) },
  )
  const owner = (nodeId: string, zones: string | null) => ({
    cell: 'main',
    nodeId,
    url: `http://${nodeId}`,
    term: 1,
    takenAt: 0,
    zones,
  })
  compare(null)
  compare(owner('node_a', 'other'))
  compare(owner('node_b', 'one'))
  compare(owner('node_c', null))
  expect(lines).toEqual([])
  for (let look = 0; look < 3; look++) compare(owner('node_d', 'other'))
  compare(owner('node_e', 'other'))
  expect(lines).toEqual(
    ['node_d', 'node_e'].map((id) => [
      "this node's time zone rules differ from the owner's",
      { owner: `http://${id}` },
    ]),
  )
})

test("operators see of each node whether its rules are the owner's", () => {
  const node = (id: string, zones: string | null) => ({
    ...{ id, url: `http://${id}`, version: '0.2.0', zones, skewMs: 0, startedAt: 0, seenAt: 0, isLive: true },
  })
  const nodes = [node('a', 'one'), node('b', 'one'), node('c', 'other'), node('d', null)]
  const owner = { cell: 'main', nodeId: 'a', url: 'http://a', term: 1, takenAt: 0, zones: 'one' }
  const said = (of: typeof owner | null) =>
    nodeReport({ at: 0, owners: new Map(of ? [['main', of]] : []) }, nodes).nodes.map((one) => one.time_zones)
  expect(said(owner)).toEqual(['same', 'same', 'different', null])
  expect(said(null)).toEqual([null, null, null, null])
})

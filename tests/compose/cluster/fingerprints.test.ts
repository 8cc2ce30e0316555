import { expect, test } from 'bun:test'
import { causesOfDifference, isGenuine, newNodeId } from '../../../server/compose/cluster/fingerprints'

const [SECRET, OTHER] = [
  'a secret that only tests know, 32 bytes and more',
  'another secret, also of 32 bytes and more',
]
const url = 'http://10.0.0.5:3000'

/** Issue 23: callers' keys pass between nodes. */
test('only who has SECRET_KEY can name an address as that of the owner', () => {
  const nodeId = newNodeId(SECRET, url)
  expect(nodeId).not.toBe(newNodeId(SECRET, url))
  expect(isGenuine(SECRET, { nodeId, url })).toBe(true)
  expect(isGenuine(SECRET, { nodeId, url: 'http://203.0.113.9' })).toBe(false)
  for (const id of [newNodeId(OTHER, url), nodeId.slice(0, -1), `${nodeId}0`, nodeId.replace(/.$/, 'g'), 'node_a', ''])
    expect([id, isGenuine(SECRET, { nodeId: id, url })]).toEqual([id, false])
})

test('a start that is refused names what to change, and nothing that follows from it', () => {
  expect(causesOfDifference(['SECRET_KEY', 'SEALING_KEYS', 'BASE_URL', 'PAYMENTS'])).toEqual(['SECRET_KEY'])
  expect(causesOfDifference(['SEALING_KEYS', 'BASE_URL', 'PAYMENTS'])).toEqual(['SEALING_KEYS', 'BASE_URL'])
  expect(causesOfDifference(['PAYMENTS'])).toEqual(['PAYMENTS'])
})

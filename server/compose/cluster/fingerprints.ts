import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Config } from '../../config'
import type { Peer } from '../../core/cluster/hop'

/** Fingerprints of the settings that must be equal on all nodes, by name. Not reversible: they are keyed with SECRET_KEY. */
export function fingerprints({
  secretKey,
  sealingKeys,
  baseUrl,
  payments,
  cellDatabaseUrls,
}: Config): Readonly<Record<string, string>> {
  const of = (name: string, value: unknown) =>
    createHmac('sha256', secretKey)
      .update(`node fingerprint\n${name}\n${JSON.stringify(value, plain)}`)
      .digest('hex')
  return {
    SECRET_KEY: of('SECRET_KEY', null),
    SEALING_KEYS: of('SEALING_KEYS', sealingKeys),
    BASE_URL: of('BASE_URL', baseUrl),
    PAYMENTS: of('PAYMENTS', payments),
    CELL_DATABASE_URLS: of('CELL_DATABASE_URLS', cellDatabaseUrls),
  }
}

/** Which differing fingerprints are the cause: SECRET_KEY is part of all, and BASE_URL is part of the realm of payments. */
export function causesOfDifference(different: readonly string[]): readonly string[] {
  if (different.includes('SECRET_KEY')) return ['SECRET_KEY']
  return different.includes('BASE_URL') ? different.filter((name) => name !== 'PAYMENTS') : different
}

function plain(_name: string, value: unknown): unknown {
  if (typeof value === 'bigint') return `${value}n`
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex')
  return value instanceof Set || value instanceof Map ? [...value] : value
}

/** The key with which nodes sign hops. A copy of the database is not enough to derive it. */
export function hopSecret(secretKey: string, value: string): Uint8Array {
  return createHmac('sha256', secretKey).update(`hop key\n${value}`).digest()
}

/**
 * A new id for a node at this address. It proves that its creator has SECRET_KEY. Without that proof, anybody with write access to the database could
 * register their own address as the owner's, and receive callers' requests with their keys.
 */
export function newNodeId(secretKey: string, url: string): string {
  const random = randomBytes(8).toString('hex')
  return `node_${random}${proofOf(secretKey, random, url)}`
}

/** Whether a node with this SECRET_KEY created this id for this address. */
export function isGenuine(secretKey: string, { nodeId, url }: Pick<Peer, 'nodeId' | 'url'>): boolean {
  const [, random = '', given = ''] = /^node_([0-9a-f]{16})([0-9a-f]{24})$/.exec(nodeId) ?? []
  return given !== '' && timingSafeEqual(Buffer.from(given), Buffer.from(proofOf(secretKey, random, url)))
}

function proofOf(secretKey: string, random: string, url: string): string {
  return createHmac('sha256', secretKey).update(`node\n${random}\n${url}`).digest('hex').slice(0, 24)
}

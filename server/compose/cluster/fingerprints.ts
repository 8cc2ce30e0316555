import { createHmac } from 'node:crypto'
import type { Config } from '../../config'

/** What must be equal on all nodes, by the names of the settings. Not reversible: the key of each is SECRET_KEY. */
export function fingerprints({ secretKey, sealingKeys, baseUrl, payments }: Config): Readonly<Record<string, string>> {
  const of = (name: string, value: unknown) =>
    createHmac('sha256', secretKey)
      .update(`node fingerprint\n${name}\n${JSON.stringify(value, plain)}`)
      .digest('hex')
  return {
    SECRET_KEY: of('SECRET_KEY', null),
    SEALING_KEYS: of('SEALING_KEYS', sealingKeys),
    BASE_URL: of('BASE_URL', baseUrl),
    PAYMENTS: of('PAYMENTS', payments),
  }
}

function plain(_name: string, value: unknown): unknown {
  if (typeof value === 'bigint') return `${value}n`
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex')
  return value instanceof Set || value instanceof Map ? [...value] : value
}

/** The key with which nodes sign hops: a copy of the database is not enough to know it. */
export function hopSecret(secretKey: string, value: string): Uint8Array {
  return createHmac('sha256', secretKey).update(`hop key\n${value}`).digest()
}

import { hkdfSync } from 'node:crypto'
import type { SealingKey } from '../core/sealing'
import { ConfigError } from './config-error'

const KEY_BYTES = 32
/** The id of the key derived from SECRET_KEY. Configured keys cannot use it. */
const DERIVED = 'derived'
const FORM =
  'SEALING_KEYS must be a comma-separated list of id:key, newest first, such as k2:...,k1:... with keys of 32 bytes in base64 (openssl rand -base64 32)'

/**
 * The keys that encrypt tokens at rest, newest first. Without `SEALING_KEYS` there is one key, derived from SECRET_KEY. Production
 * refuses that, because a leaked session secret must not open linked accounts. The derived key always remains as the oldest, so
 * that tokens sealed before `SEALING_KEYS` was set still open.
 */
export function sealingKeys(given: string | null, secretKey: string, production: boolean): readonly SealingKey[] {
  const derived = {
    id: DERIVED,
    bytes: new Uint8Array(hkdfSync('sha256', secretKey, '', 'gateway sealing v1', KEY_BYTES)),
  }
  if (given === null && production)
    throw new ConfigError(
      `SEALING_KEYS is not set, but production needs it, such as SEALING_KEYS=k1:$(openssl rand -base64 32)`,
    )
  const keys = given === null ? [] : given.split(',').map((entry) => parseKey(entry.trim()))
  if (new Set(keys.map((key) => key.id)).size !== keys.length)
    throw new ConfigError('SEALING_KEYS contains an id twice. Give every key its own id, such as k2:...,k1:...')
  return [...keys, derived]
}

function parseKey(entry: string): SealingKey {
  const [, id, text] = /^([a-z0-9]{1,16}):([A-Za-z0-9+/_-]{43}=?)$/.exec(entry) ?? []
  const bytes = Buffer.from(text ?? '', 'base64')
  if (id === undefined || id === DERIVED || bytes.length !== KEY_BYTES) throw new ConfigError(FORM)
  return { id, bytes: new Uint8Array(bytes) }
}

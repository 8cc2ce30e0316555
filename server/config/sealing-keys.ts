import { hkdfSync } from 'node:crypto'
import type { SealingKey } from '../core/sealing'
import { ConfigError } from './config-error'

const KEY_BYTES = 32
/** The id of the key that comes of SECRET_KEY; no given one may have it. */
const DERIVED = 'derived'
const FORM =
  'SEALING_KEYS must be id:key, comma separated, newest first; a key is 32 bytes in base64 (openssl rand -base64 32)'

/**
 * The ring of keys that seal tokens at rest, newest first. Without `SEALING_KEYS` it is one key derived from SECRET_KEY, which
 * is refused in production: there, a leaked session secret must not open linked accounts. The derived key always stays in the
 * ring as the oldest, so that what was sealed before keys were given still opens.
 */
export function sealingKeys(given: string | null, secretKey: string, production: boolean): readonly SealingKey[] {
  const derived = {
    id: DERIVED,
    bytes: new Uint8Array(hkdfSync('sha256', secretKey, '', 'gateway sealing v1', KEY_BYTES)),
  }
  if (given === null && production)
    throw new ConfigError(`SEALING_KEYS is not set; production needs it, such as k1:$(openssl rand -base64 32)`)
  const keys = given === null ? [] : given.split(',').map((entry) => parseKey(entry.trim()))
  if (new Set(keys.map((key) => key.id)).size !== keys.length) throw new ConfigError('SEALING_KEYS names an id twice')
  return [...keys, derived]
}

function parseKey(entry: string): SealingKey {
  const [, id, text] = /^([a-z0-9]{1,16}):([A-Za-z0-9+/_-]{43}=?)$/.exec(entry) ?? []
  const bytes = Buffer.from(text ?? '', 'base64')
  if (id === undefined || id === DERIVED || bytes.length !== KEY_BYTES) throw new ConfigError(FORM)
  return { id, bytes: new Uint8Array(bytes) }
}

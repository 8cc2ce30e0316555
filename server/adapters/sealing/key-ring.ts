import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { type SealContext, type Sealing, type SealingKey, Unsealable, type Unsealed } from '../../core/sealing'

const CIPHER = 'aes-256-gcm'
const VERSION = 'v1'
/** 96 random bits, the nonce size of GCM (NIST SP 800-38D 8.2.2): safe for 2^32 values under one key. */
const NONCE_BYTES = 12
const TAG_BYTES = 16

/**
 * AES-256-GCM with a ring of keys: the first one seals, all of them open. A sealed value is
 * `v1.<key id>.<nonce>.<ciphertext and tag>`, base64url; version, key id and context are authenticated with it.
 */
export class KeyRing implements Sealing {
  private readonly newest: SealingKey
  private readonly keys: ReadonlyMap<string, SealingKey>

  /** Newest first; at least one. */
  constructor(keys: readonly SealingKey[]) {
    const [newest] = keys
    if (!newest) throw new Error('a key ring needs at least one key')
    this.newest = newest
    this.keys = new Map(keys.map((key) => [key.id, key]))
  }

  seal(text: string, context: SealContext): string {
    const { id, bytes } = this.newest
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv(CIPHER, bytes, nonce, { authTagLength: TAG_BYTES })
    cipher.setAAD(bound(id, context))
    const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()])
    return [VERSION, id, nonce.toString('base64url'), body.toString('base64url')].join('.')
  }

  open(sealed: string, context: SealContext): Unsealed {
    const [version, id = '', nonceText = '', bodyText = '', ...rest] = sealed.split('.')
    const nonce = Buffer.from(nonceText, 'base64url')
    const body = Buffer.from(bodyText, 'base64url')
    if (version !== VERSION || rest.length > 0 || nonce.length !== NONCE_BYTES || body.length < TAG_BYTES)
      throw new Unsealable('a sealed value has not the form of one')
    const key = this.keys.get(id)
    if (!key) throw new Unsealable('a value was sealed with a key that is not in the ring')
    const decipher = createDecipheriv(CIPHER, key.bytes, nonce, { authTagLength: TAG_BYTES })
    decipher.setAAD(bound(id, context))
    decipher.setAuthTag(body.subarray(-TAG_BYTES))
    try {
      const text = Buffer.concat([decipher.update(body.subarray(0, -TAG_BYTES)), decipher.final()]).toString('utf8')
      return { text, stale: key !== this.newest }
    } catch {
      throw new Unsealable(
        `a sealed value of ${context.table}.${context.column} was changed, or stands in a wrong place`,
      )
    }
  }
}

/** JSON, so that no two places have the same bytes. */
function bound(keyId: string, { table, row, column }: SealContext): Uint8Array {
  return Buffer.from(JSON.stringify([VERSION, keyId, table, row, column]))
}

import type { Address } from '../../core/credentials/address'
import type { KeyId } from '../../core/ids'

/**
 * A request that the playground makes for an owner who is signed in: it goes by one of the owner's keys, whose secret nobody has, and
 * comes from where the owner is.
 */
export class OwnKeyRequest extends Request {
  readonly key: KeyId
  readonly address: Address

  constructor(url: URL, init: RequestInit, { key, address }: { readonly key: KeyId; readonly address: Address }) {
    super(url, init)
    this.key = key
    this.address = address
  }
}

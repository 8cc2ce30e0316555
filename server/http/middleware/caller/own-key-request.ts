import type { Address } from '../../../core/credentials/address'
import type { KeyId } from '../../../core/ids'

/**
 * A request that the playground makes for a signed-in owner. It uses one of the owner's keys without its secret (which is not
 * stored), and carries the owner's own address.
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

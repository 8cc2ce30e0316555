import { parseAddress } from '../../../server/core/credentials/address.ts'
import { Allowlist } from '../../../server/core/credentials/allowlist.ts'

/** Whether a valid allowlist would refuse this computer. */
export function excludesAddress(ips: readonly string[], own: string | null): boolean {
  const parsed = Allowlist.parse(ips)
  const address = own === null ? null : parseAddress(own)
  return ips.length > 0 && parsed.ok && address !== null && !parsed.value.includes(address)
}

import { type KnownAddress, parseAddress } from '../../core/credentials/address'
import { Allowlist } from '../../core/credentials/allowlist'

/** IANA's special-purpose IPv4 blocks, which a stranger's host name must never reach, and one cloud's metadata host outside them. */
const CLOSED_V4 = listOf([
  '0.0.0.0/8', // this network
  '10.0.0.0/8', // private
  '100.64.0.0/10', // carrier-grade NAT, and a cloud's metadata host
  '127.0.0.0/8', // loopback
  '168.63.129.16', // Azure's platform host: a public number that answers inside a machine only
  '169.254.0.0/16', // link-local, and most clouds' metadata host
  '172.16.0.0/12', // private
  '192.0.0.0/24', // protocol assignments
  '192.0.2.0/24', // documentation
  '192.88.99.0/24', // 6to4 relays
  '192.168.0.0/16', // private
  '198.18.0.0/15', // benchmarks
  '198.51.100.0/24', // documentation
  '203.0.113.0/24', // documentation
  '224.0.0.0/4', // multicast
  '240.0.0.0/4', // reserved, and broadcast
])

/** The only IPv6 space that is routed to strangers. NAT64, mapped, unique local, link-local and multicast are all outside. */
const OPEN_V6 = listOf(['2000::/3'])
/** Within it: protocol assignments with Teredo, documentation, and 6to4, which carries an IPv4 address inside. */
const CLOSED_V6 = listOf(['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'])

/** Parses an address if it is public. IPv4 addresses written as IPv6 are never accepted, whatever they map to. */
export function publicAddress(text: string): KnownAddress | null {
  const address = parseAddress(text)
  if (!address) return null
  if (address.family === 4) return text.includes(':') || CLOSED_V4.includes(address) ? null : address
  return OPEN_V6.includes(address) && !CLOSED_V6.includes(address) ? address : null
}

/** Link-local and metadata addresses, which no setting opens: they answer with credentials of the machine itself. */
const NEVER_OPEN = listOf([
  '169.254.0.0/16',
  '168.63.129.16',
  '100.100.100.200', // metadata of Alibaba
  '192.0.0.192', // metadata of Oracle
  '0.0.0.0/8',
  '224.0.0.0/3',
  'fe80::/10',
  'fd00:ec2::/32', // metadata of AWS and the credentials of its pods
  'fd20:ce::254', // metadata of Google Cloud
  '64:ff9b::/32', // NAT64, which leads to any IPv4 address, these included
  '2002::/16', // 6to4, the same
  '::a9fe:0/112', // 169.254.0.0/16, compatible
])

/** Whether an address is closed even where an operator allows private ones. */
export function isNeverAllowed(address: KnownAddress): boolean {
  return NEVER_OPEN.includes(address)
}

function listOf(entries: readonly string[]): Allowlist {
  const list = Allowlist.of(entries)
  if (!list) throw new Error('the list of address blocks is empty')
  return list
}

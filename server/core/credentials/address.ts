/** An IP address as a number: 32 bits of IPv4, or 128 of IPv6. An IPv4-mapped IPv6 address is its IPv4 (spec D3). */
export type KnownAddress = { readonly family: 4; readonly bits: number } | { readonly family: 6; readonly bits: bigint }

/**
 * The address of a caller. `unknown` has no bits: no allowlist includes it, it is never loopback, and all unknown callers share one
 * rate window.
 */
export type Address = KnownAddress | { readonly family: 'unknown' }

export const UNKNOWN_ADDRESS: Address = { family: 'unknown' }

const MAPPED = 0xffffn << 32n

/** Addresses by their text, and their usual texts: most requests come from few addresses. */
const PARSED = new Map<string, KnownAddress>()
const TEXTS = new WeakMap<KnownAddress, string>()
const MAX_PARSED = 1000

/** Parses an address (including RFC 4291 and RFC 5952 forms). Null for anything else, including zone ids. */
export function parseAddress(text: string): KnownAddress | null {
  const known = PARSED.get(text)
  if (known) return known
  const address = parsed(text)
  if (address === null) return null
  if (PARSED.size >= MAX_PARSED) PARSED.clear()
  PARSED.set(text, address)
  return address
}

function parsed(text: string): KnownAddress | null {
  if (text.includes(':')) {
    const bits = parseV6(text)
    if (bits === null) return null
    return bits >> 32n === 0xffffn ? { family: 4, bits: Number(bits - MAPPED) } : { family: 6, bits }
  }
  const bits = parseV4(text)
  return bits === null ? null : { family: 4, bits }
}

/** The usual text form: dotted IPv4, RFC 5952 IPv6, or `unknown`. */
export function formatAddress(address: Address): string {
  if (address.family === 'unknown') return 'unknown'
  const known = TEXTS.get(address)
  if (known !== undefined) return known
  const text = written(address)
  TEXTS.set(address, text)
  return text
}

function written(address: KnownAddress): string {
  if (address.family === 4) {
    const { bits } = address
    return `${bits >>> 24}.${(bits >>> 16) & 0xff}.${(bits >>> 8) & 0xff}.${bits & 0xff}`
  }
  const groups = Array.from({ length: 8 }, (_, i) => Number((address.bits >> BigInt((7 - i) * 16)) & 0xffffn))
  const hex = groups.map((group) => group.toString(16))
  const run = longestZeroRun(groups)
  if (run.length < 2) return hex.join(':')
  return `${hex.slice(0, run.start).join(':')}::${hex.slice(run.start + run.length).join(':')}`
}

/** The subject of rate limits for callers without an account: the address, or its /64 for IPv6 (spec D9). */
export function limitSubject(address: Address): string {
  return address.family === 6
    ? `${formatAddress({ family: 6, bits: (address.bits >> 64n) << 64n })}/64`
    : formatAddress(address)
}

/** The network that one person can usually pick addresses from: the /24 of IPv4, the /48 of IPv6. */
export function networkOf(address: Address): string {
  if (address.family === 'unknown') return 'unknown'
  return address.family === 6
    ? `${formatAddress({ family: 6, bits: (address.bits >> 80n) << 80n })}/48`
    : `${formatAddress({ family: 4, bits: (address.bits & 0xffffff00) >>> 0 })}/24`
}

/** Whether the address is this machine itself (127.0.0.0/8, ::1). */
export function isLoopback(address: Address): boolean {
  if (address.family === 4) return address.bits >>> 24 === 127
  return address.family === 6 && address.bits === 1n
}

/** Whether a URL's host (`localhost`, `127.0.0.1`, `[::1]`) is this machine itself. */
export function isLoopbackHost(hostname: string): boolean {
  if (hostname.toLowerCase() === 'localhost') return true
  const address = parseAddress(hostname.replace(/^\[(.*)\]$/, '$1'))
  return address !== null && isLoopback(address)
}

function parseV4(text: string): number | null {
  const match = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(text)
  if (!match) return null
  let bits = 0
  for (const part of match.slice(1)) {
    const octet = Number(part)
    if (octet > 255 || (part.length > 1 && part.startsWith('0'))) return null
    bits = bits * 256 + octet
  }
  return bits
}

function parseV6(text: string): bigint | null {
  const halves = text.split('::')
  if (halves.length > 2) return null
  const head = groupsOf(halves[0] ?? '', halves.length === 1)
  const tail = halves.length === 2 ? groupsOf(halves[1] ?? '', true) : []
  if (!head || !tail) return null
  const missing = 8 - head.length - tail.length
  if (halves.length === 2 ? missing < 1 : missing !== 0) return null
  let bits = 0n
  for (const group of [...head, ...Array<number>(missing).fill(0), ...tail]) bits = (bits << 16n) | BigInt(group)
  return bits
}

function groupsOf(text: string, mayEndInV4: boolean): number[] | null {
  if (text === '') return []
  const parts = text.split(':')
  const groups: number[] = []
  for (const [i, part] of parts.entries()) {
    if (part.includes('.')) {
      const v4 = mayEndInV4 && i === parts.length - 1 ? parseV4(part) : null
      if (v4 === null) return null
      groups.push(v4 >>> 16, v4 & 0xffff)
    } else if (/^[0-9a-fA-F]{1,4}$/.test(part)) groups.push(Number.parseInt(part, 16))
    else return null
  }
  return groups
}

function longestZeroRun(groups: readonly number[]): { start: number; length: number } {
  let best = { start: 0, length: 0 }
  for (let start = 0; start < groups.length; start++) {
    let length = 0
    while (groups[start + length] === 0) length++
    if (length > best.length) best = { start, length }
  }
  return best
}

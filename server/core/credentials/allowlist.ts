import { err, ok, type Result } from '../result'
import { type Address, formatAddress, type KnownAddress, parseAddress } from './address'

interface Range {
  readonly family: 4 | 6
  readonly first: bigint
  readonly last: bigint
}

/**
 * Addresses and CIDR ranges, sorted and merged once when the list is set. A match is a binary search, so that long lists do not slow
 * requests down.
 */
export class Allowlist {
  private readonly v4: readonly (readonly [number, number])[]
  private readonly v6: readonly (readonly [bigint, bigint])[]

  private constructor(ranges: readonly Range[]) {
    this.v4 = merged(ranges.filter((range) => range.family === 4)).map(
      (r) => [Number(r.first), Number(r.last)] as const,
    )
    this.v6 = merged(ranges.filter((range) => range.family === 6)).map((r) => [r.first, r.last] as const)
  }

  /** Parses entries. The error names the first invalid entry and the rule that it breaks. */
  static parse(entries: readonly string[]): Result<Allowlist, { readonly entry: string; readonly rule: string }> {
    const ranges: Range[] = []
    for (const entry of entries) {
      const range = parseRange(entry)
      if (!range.ok) return err({ entry, rule: range.error })
      ranges.push(range.value)
    }
    return ok(new Allowlist(ranges))
  }

  /** The list of entries that are known to be valid, or null when it is empty and so allows any address. */
  static of(valid: readonly string[]): Allowlist | null {
    if (valid.length === 0) return null
    const parsed = Allowlist.parse(valid)
    if (!parsed.ok) throw new Error(`allowlist entry ${parsed.error.entry} ${parsed.error.rule}`)
    return parsed.value
  }

  includes(address: Address): boolean {
    if (address.family === 4) return within(this.v4, address.bits)
    return address.family === 6 && within(this.v6, address.bits)
  }
}

/** Parses an address or CIDR range. If host bits are set, the error suggests the network. */
function parseRange(text: string): Result<Range, string> {
  const slash = text.indexOf('/')
  const address = parseAddress(slash < 0 ? text : text.slice(0, slash))
  if (!address) return err('must be an IPv4 or IPv6 address, or a CIDR range')
  const length = slash < 0 ? '' : text.slice(slash + 1)
  const mapped = address.family === 4 && text.includes(':') ? 96 : 0
  const width = address.family === 4 ? 32 : 128
  const prefix = slash < 0 ? width : /^\d{1,3}$/.test(length) ? Number(length) - mapped : -1
  if (prefix < 0 || prefix > width)
    return err(`must have a prefix length from ${mapped} to ${width + mapped} after the slash`)
  const host = (1n << BigInt(width - prefix)) - 1n
  const bits = BigInt(address.bits)
  const first = bits & ~host
  if (first !== bits) {
    const network: KnownAddress = address.family === 4 ? { family: 4, bits: Number(first) } : { family: 6, bits: first }
    return err(`has host bits set; the network is ${formatAddress(network)}/${prefix}`)
  }
  return ok({ family: address.family, first, last: first | host })
}

function merged(ranges: readonly Range[]): Range[] {
  const sorted = [...ranges].sort((a, b) => (a.first < b.first ? -1 : a.first > b.first ? 1 : 0))
  const out: Range[] = []
  for (const range of sorted) {
    const before = out.at(-1)
    if (before && range.first <= before.last + 1n) {
      if (range.last > before.last) out[out.length - 1] = { ...before, last: range.last }
    } else out.push(range)
  }
  return out
}

function within<N extends number | bigint>(ranges: readonly (readonly [N, N])[], value: N): boolean {
  let low = 0
  let high = ranges.length - 1
  while (low <= high) {
    const middle = (low + high) >> 1
    const range = ranges[middle]
    if (!range) return false
    if (value < range[0]) high = middle - 1
    else if (value > range[1]) low = middle + 1
    else return true
  }
  return false
}

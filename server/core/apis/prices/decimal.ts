/** A decimal number of at least 0, exact: `digits` / 10^`scale`. */
export interface Decimal {
  readonly digits: bigint
  readonly scale: number
}

/** The most digits of a figure that an upstream may report. */
const MAX_DIGITS = 18

/** Reads a JSON number or a decimal text such as `12.5` or `1e-3`. Null if it is negative, not finite, or has more than 18 digits. */
export function parseDecimal(text: string): Decimal | null {
  const match = /^(\d{1,18})(?:\.(\d{1,18}))?(?:[eE]([+-]?\d{1,2}))?$/.exec(text)
  if (!match) return null
  const [, whole = '', part = '', exponent = '0'] = match
  if ((whole + part).replace(/^0+/, '').length > MAX_DIGITS) return null
  const scale = part.length - Number(exponent)
  const digits = BigInt(whole + part)
  if (scale < 0) {
    const shifted = digits * 10n ** BigInt(-scale)
    return shifted.toString().length > MAX_DIGITS ? null : { digits: shifted, scale: 0 }
  }
  return { digits, scale }
}

export function decimalOf(whole: number): Decimal {
  return { digits: BigInt(whole), scale: 0 }
}

/** The exact product. */
export function multiplied(a: Decimal, b: Decimal): Decimal {
  return { digits: a.digits * b.digits, scale: a.scale + b.scale }
}

/** The smallest integer that is at least this, or null if it is beyond `Number.MAX_SAFE_INTEGER`. */
export function roundedUp({ digits, scale }: Decimal): number | null {
  const divisor = 10n ** BigInt(scale)
  const rounded = (digits + divisor - 1n) / divisor
  return rounded > BigInt(Number.MAX_SAFE_INTEGER) ? null : Number(rounded)
}

import { PRICE_TEXT as TEXT } from '../../messages/prices.ts'
import { costUsd, parseMicros } from './money.ts'

/** The price of an imported or built-in operation in a few words, such as `$0.001 per 10 entries of /data, at most $0.01`. */
export function priceText(price: object): string {
  const of = (name: string) => {
    const value: unknown = Reflect.get(price, name)
    return typeof value === 'string' || typeof value === 'number' ? String(value) : null
  }
  switch (of('mode')) {
    case 'fixed':
      return fixedText(of('usd') ?? '0', of('unit') ?? 'request')
    case 'units': {
      const parameter = of('maximum_from')
      const bound = parameter === null ? atMost(of('usd'), of('maximum'), of('block')) : TEXT.bounded(parameter)
      return `${TEXT.perUnit(dollars(of('usd') ?? '0'), unitsText(of('count') ?? '', of('block') ?? '1'))}, ${bound}`
    }
    case 'reported':
      return `${TEXT.reported(of('multiplier') ?? '1')}, ${TEXT.atMost(dollars(of('maximum_usd') ?? '0'))}`
    default:
      return TEXT.unknown
  }
}

function fixedText(usd: string, unit: string): string {
  if (Number(usd) === 0) return TEXT.free
  return unit === 'request' ? TEXT.perCall(dollars(usd)) : TEXT.perUnit(dollars(usd), unit)
}

function unitsText(count: string, block: string): string {
  const named = count.startsWith('header:') ? TEXT.header(count.slice('header:'.length)) : TEXT.entries(count)
  const [one, several] = TEXT.units[count] ?? named
  return block === '1' ? one : `${block} ${several}`
}

function atMost(usd: string | null, maximum: string | null, block: string | null): string {
  const micros = parseMicros(usd ?? '') ?? 0
  return TEXT.atMost(costUsd(micros * Math.ceil(Number(maximum ?? 0) / Number(block ?? 1))))
}

function dollars(usd: string): string {
  const micros = parseMicros(usd)
  return micros === null ? `$${usd}` : costUsd(micros)
}

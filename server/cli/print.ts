import { printableJson } from '../core/plain-text'
import type { Terminal } from './terminal'

/** Prints a result: as JSON with --json, otherwise as text. */
export function printed(
  terminal: Terminal,
  flags: { readonly json?: boolean | undefined },
  result: unknown,
  asText: () => string,
): void {
  terminal.out(flags.json ? asJson(result) : asText())
}

/** Formats a value as indented JSON that is safe to print, whatever it contains. */
export function asJson(value: unknown): string {
  return `${printableJson(value)}\n`
}

/** Formats micro-USD as USD, exactly and with at least two decimals. */
export function usdText(micros: unknown): string {
  if (typeof micros !== 'number') return '-'
  const [whole = '0', fraction = ''] = (micros / 1_000_000).toFixed(6).split('.')
  return `${whole}.${fraction.replace(/0{1,4}$/, '').padEnd(2, '0')}`
}

/** Formats how many there are of a thing: `1 key`, `2 keys`. */
export function count(number: number, thing: string, things = `${thing}s`): string {
  return `${number.toLocaleString('en')} ${number === 1 ? thing : things}`
}

/** The status of a key. One that was replaced and still works says until when. */
export function keyStatusText({
  status,
  stops_at: end,
}: {
  readonly status: string
  readonly stops_at: string | null
}) {
  return end === null || status === 'revoked' ? status : `${status} until ${end}`
}

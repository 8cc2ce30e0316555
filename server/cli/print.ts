import { printableJson } from '../core/plain-text'
import type { Terminal } from './terminal'

/** The answer as JSON, or in words for a person. */
export function printed(
  terminal: Terminal,
  flags: { readonly json?: boolean | undefined },
  answer: unknown,
  inWords: () => string,
): void {
  terminal.out(flags.json ? asJson(answer) : inWords())
}

/** A value as lines of JSON, safe to print whatever a server put into it. */
export function asJson(value: unknown): string {
  return `${printableJson(value)}\n`
}

/** Micro-USD as USD, with the digits that are there and at least two. */
export function usd(micros: unknown): string {
  if (typeof micros !== 'number') return '-'
  const [whole = '0', fraction = ''] = (micros / 1_000_000).toFixed(6).split('.')
  return `${whole}.${fraction.replace(/0{1,4}$/, '').padEnd(2, '0')}`
}

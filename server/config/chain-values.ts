import { type Money, parseUsd } from '../core/money'
import { PUBLISHED_ACCOUNTS } from '../core/payments/published-accounts'
import { ConfigError } from './config-error'

const ADDRESS = /^0x[0-9a-fA-F]{40}$/

/** Reads a setting by its name; null where it is not set. */
export type Read = (name: string) => string | null

/** The address of an account or a contract. `needs`: what cannot be without it. */
export function chainAddress(read: Read, name: string, needs: string): string {
  const text = read(name)
  if (text === null) throw new ConfigError(`${name} is not set; ${needs} needs it`)
  if (!ADDRESS.test(text)) throw new ConfigError(`${name} must be 0x and 40 hex digits`)
  return text
}

/** The keys of these accounts stand in every manual: what is sent to them, and what they hold, belongs to whoever is first. */
export function refusePublished(name: string, value: string): void {
  if (
    PUBLISHED_ACCOUNTS.some((account) => [account.address, account.key].some((known) => known === value.toLowerCase()))
  )
    throw new ConfigError(`${name} is a published development account: production refuses it`)
}

export function nodeUrl(read: Read, name: string, needs: string): string {
  const text = read(name)
  const url = text === null ? null : URL.parse(text)
  // The address can hold a token of the provider, so it is not repeated.
  if (!url || !['http:', 'https:'].includes(url.protocol))
    throw new ConfigError(`${name} must be an http or https address; ${needs} needs it`)
  return url.href
}

export function whole(name: string, text: string, least: number, most: number): number {
  const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN
  if (!(value >= least && value <= most))
    throw new ConfigError(`${name} must be a whole number from ${least} to ${most}, not "${text}"`)
  return value
}

/** An amount of USD above zero. */
export function usd(name: string, text: string): Money {
  const amount = parseUsd(text)
  if (!amount) throw new ConfigError(`${name} must be USD above zero, such as 0.005, not "${text}"`)
  return amount
}

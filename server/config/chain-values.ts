import { type Money, parseUsd } from '../core/money'
import { PUBLISHED_ACCOUNTS } from '../core/payments/published-accounts'
import { ConfigError } from './config-error'

const ADDRESS = /^0x[0-9a-fA-F]{40}$/

/** Reads a setting by its name; null if it is not set. */
export type Read = (name: string) => string | null

/** The address of an account or contract. `neededBy` names the feature that requires it. */
export function chainAddress(read: Read, name: string, neededBy: string): string {
  const text = read(name)
  if (text === null) throw new ConfigError(`${name} is not set, but ${neededBy} needs it`)
  if (!ADDRESS.test(text)) throw new ConfigError(`${name} must be an address: 0x and 40 hex digits`)
  return text
}

/** The private keys of these accounts are public: anyone can take their money. */
export function refusePublished(name: string, value: string): void {
  if (
    PUBLISHED_ACCOUNTS.some((account) => [account.address, account.key].some((known) => known === value.toLowerCase()))
  )
    throw new ConfigError(
      `${name} is a development account whose private key is public. Use an account of your own in production`,
    )
}

export function nodeUrl(read: Read, name: string, neededBy: string): string {
  const text = read(name)
  const url = text === null ? null : URL.parse(text)
  // The URL can contain a token, so the message does not repeat it.
  if (!url || !['http:', 'https:'].includes(url.protocol))
    throw new ConfigError(
      `${name} must be the http or https URL of a node, such as https://rpc.example.com; ${neededBy} needs it`,
    )
  return url.href
}

export function whole(name: string, text: string, min: number, max: number): number {
  const value = /^\d{1,10}$/.test(text) ? Number(text) : Number.NaN
  if (!(value >= min && value <= max))
    throw new ConfigError(`${name} must be an integer from ${min} to ${max}, not "${text}"`)
  return value
}

/** An amount of USD above zero. */
export function usd(name: string, text: string): Money {
  const amount = parseUsd(text)
  if (!amount) throw new ConfigError(`${name} must be an amount of USD above zero such as 0.005, not "${text}"`)
  return amount
}

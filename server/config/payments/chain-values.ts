import { type Money, parseUsd } from '../../core/money'
import { PUBLISHED_ACCOUNTS } from '../../core/payments/published-accounts'
import { ConfigError } from '../config-error'
import { integer, invalidSetting, type Read, type Setting, setting, text } from '../schema/setting'

/** The address of an account or contract. */
export function chainAddress(about: { readonly doc: string }) {
  const is = /^0x[0-9a-fA-F]{40}$/
  const example = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913'
  return text({ ...about, is, rule: `an address: 0x and 40 hex digits, such as ${example}`, example })
}

/** The private key of an account. */
export function privateKey(about: { readonly doc: string }) {
  const is = /^0x[0-9a-fA-F]{64}$/
  return text({ ...about, secret: true, is, rule: 'a private key: 0x and 64 hex digits' })
}

/** The URL of a chain's node, which may contain a token. */
export function nodeUrl(about: { readonly doc: string }) {
  const example = 'https://rpc.example.com'
  return setting({ ...about, default: null, secret: true, example }, { type: 'string' }, (given, name) => {
    const url = URL.parse(given)
    if (!url || !['http:', 'https:'].includes(url.protocol))
      throw invalidSetting(name, `the http or https URL of a node, such as ${example}`, null)
    return url.href
  })
}

export function chainId(about: { readonly doc: string }) {
  return integer({ ...about, default: null, min: 1, max: 2 ** 31, example: '8453' })
}

/** Reads settings that `feature` requires: fails for one that is not set. */
export function neededFor(read: Read, feature: string): <T>(one: Setting<T | null>) => T {
  return function needed<T>(one: Setting<T | null>): T {
    const value = one.of(read)
    if (value === null) throw new ConfigError(`${one.name} is not set, but ${feature} needs it`)
    return value
  }
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

/** An amount of USD above zero. */
export function usd<const D extends string | null>(about: {
  readonly doc: string
  readonly default: D
  readonly otherwise?: string
}) {
  return setting({ ...about, example: '0.005' }, { anyOf: [{ type: 'number' }, { type: 'string' }] }, positiveUsd)
}

export function positiveUsd(given: string, name: string): Money {
  const amount = parseUsd(given)
  if (!amount) throw invalidSetting(name, 'an amount of USD above zero such as 0.005', given)
  return amount
}

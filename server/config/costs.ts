import { type Money, parseUsd } from '../core/money'
import { invalidSetting, setting } from './schema/setting'

/**
 * The operator's cost of each of several things in USD: `name=0.01,name=0.005`, in the configuration file also a map. `known` returns the thing
 * of a name, and `rule` says to people what is listed.
 */
export function costs<N extends string>(
  about: { readonly doc: string; readonly example: string },
  known: (name: string) => N | undefined,
  rule: string,
) {
  const schema = { anyOf: [{ type: 'object', additionalProperties: { type: 'number' } }, { type: 'string' }] }
  return setting({ ...about, default: null }, schema, (given, setting): ReadonlyMap<N, Money> => {
    const entries = given.split(',').map((entry) => {
      const [text = '', usd = ''] = entry.split('=').map((part) => part.trim())
      const name = known(text)
      const cost = parseUsd(usd)
      if (name === undefined || cost === null) throw invalidSetting(setting, `${rule}, such as ${about.example}`, given)
      return [name, cost] as const
    })
    return new Map(entries)
  })
}

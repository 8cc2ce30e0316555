import { elementsOf, isJson } from '../../core/json'
import { textIn } from './plain-texts'

const MAX_SERVERS = 20
const MAX_URL = 500

/** The URLs of servers, absolute, with the defaults of their variables, without a trailing slash. Others are left out. */
export function serverUrls(servers: unknown, base: string): string[] {
  const urls = elementsOf(servers)
    .slice(0, MAX_SERVERS)
    .flatMap((server) => {
      if (!isJson(server) || typeof server['url'] !== 'string') return []
      const variables = isJson(server['variables']) ? server['variables'] : {}
      const text = server['url'].slice(0, MAX_URL).replace(/\{([^{}]+)\}/g, (whole, name: string) => {
        const variable = Object.hasOwn(variables, name) ? variables[name] : undefined
        return isJson(variable) && variable['default'] !== undefined ? textIn(variable['default']) : whole
      })
      const url = URL.parse(text, base || undefined)
      if (!url || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') return []
      return [`${url.origin}${url.pathname}`.replace(/\/+$/, '')]
    })
  return [...new Set(urls)]
}

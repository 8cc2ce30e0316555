import { isJson, type Json, jsonText, stringOrEmpty } from '../../../../../core/json'
import { digestOf } from '../../../../../core/payments/binding'
import { type CallersTool, manyOf } from '../../model-request'

/** What OpenAI and most other vendors accept as the name of a function. */
const MAX_CHARACTERS = 64
const HASH_CHARACTERS = 8

const SEARCH = 'tool_search'
const isSearch = ({ type }: Json) => type === SEARCH

/** The tools of a call under the names that a chat completion has for them: a chat knows functions only. */
export class ToolNames {
  /** The tools that are no plain functions by their names in the chat. */
  readonly others = new Map<string, CallersTool>()
  /** The tools outside of namespaces, then those inside, each as a tool of its own. */
  readonly tools: readonly Json[]
  private readonly taken: Set<unknown>
  private readonly chatNames = new Map<string, string>()

  constructor(tools: unknown) {
    const all = manyOf(tools).filter(isJson)
    // Two searches may find the same tool, and vendors refuse a name that is there twice.
    const own = firstOfEach(
      all.filter(({ type }) => type !== 'namespace').map((tool) => (isSearch(tool) ? { ...tool, name: SEARCH } : tool)),
    )
    if (own.some(isSearch)) this.others.set(SEARCH, { name: SEARCH, kind: SEARCH })
    this.taken = new Set(own.map(({ name }) => name))
    for (const { type, name } of own)
      if (type === 'custom' && typeof name === 'string') this.others.set(name, { name, kind: 'custom' })
    const grouped = all
      .filter(({ type }) => type === 'namespace')
      .flatMap((group) =>
        manyOf(group['tools'])
          .filter(isJson)
          .flatMap((tool) => {
            const [namespace, name] = [jsonText(group['name'] ?? ''), jsonText(tool['name'] ?? '')]
            if (this.chatNames.has(keyOf(namespace, name))) return []
            const kind = tool['type'] === 'custom' ? 'custom' : 'function'
            return [{ ...tool, name: this.add({ namespace, name, kind }) }]
          }),
      )
    this.tools = [...own, ...grouped]
  }

  /** The name in the chat of a tool, also of one that an earlier turn called and this one no longer offers. */
  inChat(namespace: unknown, name: unknown): unknown {
    if (typeof namespace !== 'string' || namespace === '') return name
    const text = stringOrEmpty(name)
    return this.chatNames.get(keyOf(namespace, text)) ?? this.add({ namespace, name: text, kind: 'function' })
  }

  private add(tool: CallersTool & { readonly namespace: string }): string {
    const { namespace, name } = tool
    const plain = `${namespace}__${name}`.replaceAll(/[^A-Za-z0-9_-]/g, '_')
    const inChat = plain.length > MAX_CHARACTERS || this.taken.has(plain) ? hashed(plain, namespace, name) : plain
    this.taken.add(inChat)
    this.chatNames.set(keyOf(namespace, name), inChat)
    this.others.set(inChat, tool)
    return inChat
  }
}

function firstOfEach(tools: readonly Json[]): readonly Json[] {
  const names = new Set<unknown>()
  return tools.filter(({ name }) => {
    if (typeof name === 'string' && names.has(name)) return false
    names.add(name)
    return true
  })
}

function keyOf(namespace: string, name: string): string {
  return JSON.stringify([namespace, name])
}

function hashed(plain: string, namespace: string, name: string): string {
  const hash = Buffer.from(digestOf(keyOf(namespace, name)), 'base64url').toString('hex')
  return `${plain.slice(0, MAX_CHARACTERS - HASH_CHARACTERS - 1)}_${hash.slice(0, HASH_CHARACTERS)}`
}

import { isJson, type Json, jsonText, stringOrEmpty } from '../../../../../core/json'
import { digestOf } from '../../../../../core/payments/binding'
import { manyOf } from '../../model-request'

/** What OpenAI and most other vendors accept as the name of a function. */
const MAX_CHARACTERS = 64
const HASH_CHARACTERS = 8

/** A function of a group of functions, which Responses calls a namespace. */
export interface NamespacedName {
  readonly namespace: string
  readonly name: string
}

/** The functions of a call under the names that a chat completion has for them: a chat knows no namespaces. */
export class ToolNames {
  /** The functions with a namespace by their names in the chat. */
  readonly namespaced = new Map<string, NamespacedName>()
  /** The tools outside of namespaces, then those inside, each as a tool of its own. */
  readonly tools: readonly Json[]
  private readonly taken: Set<unknown>
  private readonly chatNames = new Map<string, string>()

  constructor(tools: unknown) {
    const all = manyOf(tools).filter(isJson)
    const own = all.filter(({ type }) => type !== 'namespace')
    this.taken = new Set(own.map(({ name }) => name))
    const grouped = all
      .filter(({ type }) => type === 'namespace')
      .flatMap((group) =>
        manyOf(group['tools'])
          .filter(isJson)
          .map((tool) => ({ ...tool, name: this.add(jsonText(group['name'] ?? ''), jsonText(tool['name'] ?? '')) })),
      )
    this.tools = [...own, ...grouped]
  }

  /** The name in the chat of a function, also of one that an earlier turn called and this one no longer offers. */
  inChat(namespace: unknown, name: unknown): unknown {
    if (typeof namespace !== 'string' || namespace === '') return name
    const text = stringOrEmpty(name)
    return this.chatNames.get(keyOf(namespace, text)) ?? this.add(namespace, text)
  }

  private add(namespace: string, name: string): string {
    const plain = `${namespace}__${name}`.replaceAll(/[^A-Za-z0-9_-]/g, '_')
    const inChat = plain.length > MAX_CHARACTERS || this.taken.has(plain) ? hashed(plain, namespace, name) : plain
    this.taken.add(inChat)
    this.chatNames.set(keyOf(namespace, name), inChat)
    this.namespaced.set(inChat, { namespace, name })
    return inChat
  }
}

function keyOf(namespace: string, name: string): string {
  return JSON.stringify([namespace, name])
}

function hashed(plain: string, namespace: string, name: string): string {
  const hash = Buffer.from(digestOf(keyOf(namespace, name)), 'base64url').toString('hex')
  return `${plain.slice(0, MAX_CHARACTERS - HASH_CHARACTERS - 1)}_${hash.slice(0, HASH_CHARACTERS)}`
}

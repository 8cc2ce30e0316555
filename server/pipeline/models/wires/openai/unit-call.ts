import type { Json } from '../../../../core/json'
import type { ModelUpstream } from '../../../../core/models/model'
import type { UnitsAsked } from '../../../../core/models/unit-price'
import { ok } from '../../../../core/result'
import { assigned, edited } from '../json/json-members'
import { invalidMember, type ModelRequest, missingMember, readModelBody } from '../model-request'
import { PLAIN_ANSWERS, PLAIN_REQUEST } from '../plain-wire'
import { type MemberRules, uncovered } from '../priced-members'

/** Reads a call whose price depends on what it asks for. `asked` returns the rule that a member breaks instead of the units. */
export function readUnitCall(
  bytes: Uint8Array<ArrayBuffer>,
  rules: MemberRules,
  required: readonly string[],
  asked: (json: Json) => UnitsAsked | readonly [param: string, rule: string],
) {
  const read = readModelBody(bytes)
  if (!read.ok) return read
  const { json, members } = read.value
  const { model } = json
  const absent = ['model', ...required].find((name) => json[name] === undefined)
  if (absent !== undefined) return missingMember(absent)
  if (typeof model !== 'string') return invalidMember('model', 'must be the id of a model')
  const units = asked(json)
  if (!('unit' in units)) return invalidMember(...units)
  return ok({ ...PLAIN_REQUEST, bytes, members, model, units, uncovered: uncovered(json, rules) })
}

/** The half of such an API that is the same for all: the body as it came, but for the model's name and what the price depends on. */
export const UNIT_CALLS = {
  ...PLAIN_ANSWERS,
  bodyFor({ bytes, members, model, defaults = {} }: ModelRequest, upstream: ModelUpstream) {
    const set = { ...(upstream.model !== model && { model: upstream.model }), ...defaults }
    return edited(
      bytes,
      Object.entries(set).map(([name, value]) => assigned(bytes, members, name, value)),
    )
  },
  // Nothing in the answer is metered per token.
  usageOf: () => null,
}

/** The characters of a text, as its reader counts them: two halves of a surrogate pair are one. */
export function charactersOf(text: string): number {
  let count = text.length
  for (let at = 0; at < text.length - 1; at++) {
    if ((text.charCodeAt(at) & 0xfc00) !== 0xd800 || (text.charCodeAt(at + 1) & 0xfc00) !== 0xdc00) continue
    count--
    at++
  }
  return count
}

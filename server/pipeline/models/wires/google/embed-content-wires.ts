import type { Failure } from '../../../../core/failure'
import { isJson, type Json, membersOf } from '../../../../core/json'
import type { ModelUpstream } from '../../../../core/models/model'
import { ok, type Result } from '../../../../core/result'
import { invalidMember, type ModelRequest, manyOf, missingMember, readModelBody } from '../model-request'
import { type ModelWire, PLAIN_ANSWERS, PLAIN_REQUEST, type WirePath } from '../model-wire'
import { covered, type MemberRule, type MemberRules, uncovered } from '../priced-members'
import { embeddingUsage } from '../token-usage'
import { normalizeSpelling } from './generate-content-members'

/** Several times what Google accepts in one call. */
const MAX_REQUESTS = 2048

const TEXT = covered('text')

/** Pictures, sound and files have prices of their own. */
const textOnly: MemberRule = (value, path) =>
  manyOf(isJson(value) ? value['parts'] : null).flatMap((part) =>
    isJson(part) ? uncovered(normalizeSpelling(part) ?? part, TEXT, `${path}.parts.`) : [`${path}.parts`],
  )

/** The properties of one text to embed that a token price covers. */
const MEMBERS: MemberRules = {
  ...covered('model', 'taskType', 'title', 'outputDimensionality'),
  content: textOnly,
}

/** Gemini's embedContent: one text. */
export const EMBED_CONTENT: ModelWire = {
  route: 'embed_content',
  read(bytes, path) {
    const read = readModelBody(bytes)
    if (!read.ok) return read
    const one = normalizeSpelling(read.value.json)
    if (!one) return invalidMember('body', 'contains the same property in both spellings')
    return requestOf([one], read.value.members, { bytes, path, prefix: '' })
  },
  bodyFor: ({ bytes }, upstream) => written(withModel(parsed(bytes), upstream)),
  usageOf: googleUsage,
  ...PLAIN_ANSWERS,
}

/** Gemini's batchEmbedContents: many texts. Google's SDK uses it for one text, too. */
export const BATCH_EMBED_CONTENTS: ModelWire = {
  route: 'batch_embed_contents',
  read(bytes, path) {
    const read = readModelBody(bytes)
    if (!read.ok) return read
    const { json, members } = read.value
    const { requests, ...others } = json
    if (requests === undefined) return missingMember('requests')
    if (!Array.isArray(requests) || requests.length === 0 || requests.length > MAX_REQUESTS)
      return invalidMember('requests', `must be a list of 1 to ${MAX_REQUESTS} requests`)
    const all = requests
      .map((request) => (isJson(request) ? normalizeSpelling(request) : null))
      .filter((one) => one !== null)
    if (all.length < requests.length) return invalidMember('requests', 'must be objects, each property in one spelling')
    const made = requestOf(all, members, { bytes, path, prefix: 'requests.' })
    if (!made.ok) return made
    return ok({ ...made.value, uncovered: [...uncovered(others, {}), ...made.value.uncovered] })
  },
  bodyFor({ bytes }, upstream) {
    const { requests } = parsed(bytes)
    return written({ requests: manyOf(requests).map((one) => withModel(membersOf(one), upstream)) })
  },
  usageOf: googleUsage,
  ...PLAIN_ANSWERS,
}

function requestOf(
  all: readonly Json[],
  members: ModelRequest['members'],
  {
    bytes,
    path,
    prefix,
  }: { readonly bytes: Uint8Array<ArrayBuffer>; readonly path: WirePath; readonly prefix: string },
): Result<ModelRequest, Failure> {
  const model = path.model ?? ''
  let textBytes = 0
  for (const { model: named, content, title } of all) {
    if (named !== undefined && named !== null && named !== model && named !== `models/${model}`)
      return invalidMember(`${prefix}model`, `must be "models/${model.slice(0, 80)}", the model in the path`)
    if (!isJson(content))
      return content === undefined
        ? missingMember(`${prefix}content`)
        : invalidMember(`${prefix}content`, 'must be an object with parts')
    textBytes += lengthOf(title)
    for (const part of manyOf(content['parts'])) textBytes += lengthOf(isJson(part) ? part['text'] : null)
  }
  return ok({
    ...PLAIN_REQUEST,
    bytes,
    members,
    model,
    textBytes,
    uncovered: [...new Set(all.flatMap((one) => uncovered(one, MEMBERS, prefix)))],
  })
}

function lengthOf(text: unknown): number {
  return typeof text === 'string' ? Buffer.byteLength(text) : 0
}

/** Google's API requires the model's name in each request of a batch. */
function withModel(request: Json, upstream: ModelUpstream): Json {
  return { ...request, model: `models/${upstream.model}` }
}

function parsed(bytes: Uint8Array): Json {
  return membersOf(JSON.parse(new TextDecoder().decode(bytes)))
}

function written(json: Json): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(JSON.stringify(json))
}

/** Older models report none; then the text is charged by its length. */
function googleUsage(answer: Json) {
  return embeddingUsage(answer['usageMetadata'], 'promptTokenCount', 'totalTokenCount')
}

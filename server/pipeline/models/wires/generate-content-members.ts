import { isJson, type Json } from '../../../core/json'
import { manyOf } from './model-request'
import { COVERED, type MemberRule, type MemberRules, objectOf, only, uncovered } from './priced-members'

/** A name as Google's JSON spells it first: its API takes `max_output_tokens` for `maxOutputTokens` too. */
function camelCase(name: string): string {
  return name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
}

/** The object with its own names in one spelling; null where one stands there in both. */
export function inOneSpelling(json: Json): Json | null {
  const entries = Object.entries(json).map(([name, value]) => [camelCase(name), value] as const)
  return new Set(entries.map(([name]) => name)).size === entries.length ? Object.fromEntries(entries) : null
}

/** The rules for an object in either spelling. */
function spelled(rules: MemberRules): MemberRule {
  const rule = objectOf(rules)
  return (value, path) => rule(isJson(value) ? (inOneSpelling(value) ?? value) : value, path)
}

/** Its API takes one object where a list belongs, so both are looked at. */
const tools: MemberRule = (value, path) =>
  manyOf(value).flatMap((tool) =>
    isJson(tool) ? uncovered(inOneSpelling(tool) ?? tool, { functionDeclarations: COVERED }, `${path}.`) : [path],
  )

/** Sound has a price of its own per token. */
const contents: MemberRule = (value, path) =>
  manyOf(value).some((content) => isJson(content) && manyOf(content['parts']).some(isSound)) ? [`${path}.audio`] : []

function isSound(part: unknown): boolean {
  if (!isJson(part)) return false
  const { inlineData, fileData, functionResponse } = inOneSpelling(part) ?? part
  const isAudio = (data: unknown) => {
    const type = isJson(data) ? (data['mimeType'] ?? data['mime_type']) : null
    return typeof type === 'string' && type.trim().toLowerCase().startsWith('audio/')
  }
  const inner = isJson(functionResponse) ? manyOf(functionResponse['parts']) : []
  return isAudio(inlineData) || isAudio(fileData) || inner.some(isSound)
}

const textOnly: MemberRule = (value, path) =>
  manyOf(value).every((one) => String(one).toUpperCase() === 'TEXT') ? [] : [path]

const GENERATION: MemberRules = {
  temperature: COVERED,
  topP: COVERED,
  topK: COVERED,
  candidateCount: COVERED,
  maxOutputTokens: COVERED,
  stopSequences: COVERED,
  responseMimeType: COVERED,
  responseSchema: COVERED,
  responseJsonSchema: COVERED,
  responseLogprobs: COVERED,
  logprobs: COVERED,
  presencePenalty: COVERED,
  frequencyPenalty: COVERED,
  seed: COVERED,
  mediaResolution: COVERED,
  thinkingConfig: spelled({ includeThoughts: COVERED, thinkingBudget: COVERED, thinkingLevel: COVERED }),
  responseModalities: textOnly,
}

/**
 * What a token price covers of generateContent. Left out on purpose: every tool but function declarations (search, maps, code,
 * URL context), `cachedContent` (stored by the hour), speech and pictures that come out, and tiers with prices of their own.
 */
const MEMBERS: MemberRules = {
  contents,
  systemInstruction: (value, path) => contents(value, path),
  generationConfig: spelled(GENERATION),
  safetySettings: COVERED,
  tools,
  toolConfig: spelled({ functionCallingConfig: COVERED }),
  serviceTier: only('unspecified', 'standard'),
  store: only(false),
}

/** The members of a generateContent body, in one spelling, that no token price covers. */
export function uncoveredOfGenerate(json: Json): readonly string[] {
  return uncovered(json, MEMBERS)
}

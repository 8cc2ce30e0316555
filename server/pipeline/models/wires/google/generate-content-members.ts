import { isJson, type Json } from '../../../../core/json'
import { manyOf } from '../model-request'
import {
  COVERED,
  covered,
  type MemberRule,
  type MemberRules,
  objectOf,
  only,
  shortName,
  tier,
  uncovered,
} from '../priced-members'

/** A name in Google's primary spelling: its API also accepts `max_output_tokens` for `maxOutputTokens`. */
function camelCase(name: string): string {
  return name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
}

/** The object with its own property names in camelCase; null if a property is there in both spellings. */
export function normalizeSpelling(json: Json): Json | null {
  const entries = Object.entries(json).map(([name, value]) => [camelCase(name), value] as const)
  return new Set(entries.map(([name]) => name)).size === entries.length ? Object.fromEntries(entries) : null
}

/** Applies rules to an object in either spelling. */
function spelled(rules: MemberRules): MemberRule {
  const rule = objectOf(rules)
  return (value, path) => rule(isJson(value) ? (normalizeSpelling(value) ?? value) : value, path)
}

const FUNCTIONS = covered('functionDeclarations')

/** Google's API also accepts a single object in place of a list. */
const tools: MemberRule = (value, path) =>
  manyOf(value).flatMap((tool) =>
    isJson(tool) ? uncovered(normalizeSpelling(tool) ?? tool, FUNCTIONS, `${path}.`) : [path],
  )

/** Audio has its own price per token. */
const contents: MemberRule = (value, path) =>
  manyOf(value).some((content) => isJson(content) && manyOf(content['parts']).some(isSound)) ? [`${path}.audio`] : []

function isSound(part: unknown): boolean {
  if (!isJson(part)) return false
  const { inlineData, fileData, functionResponse } = normalizeSpelling(part) ?? part
  const isAudio = (data: unknown) => {
    const type = isJson(data) ? (data['mimeType'] ?? data['mime_type']) : null
    return typeof type === 'string' && type.trim().toLowerCase().startsWith('audio/')
  }
  const inner = isJson(functionResponse) ? manyOf(functionResponse['parts']) : []
  return isAudio(inlineData) || isAudio(fileData) || inner.some(isSound)
}

const modalities: MemberRule = (value, path) =>
  manyOf(value).flatMap((one) => {
    const name = shortName(one).toUpperCase()
    return name === 'TEXT' ? [] : [`${path}.${name}`]
  })

const GENERATION: MemberRules = {
  ...covered('temperature', 'topP', 'topK', 'candidateCount', 'maxOutputTokens', 'stopSequences', 'responseMimeType'),
  ...covered('responseSchema', 'responseJsonSchema', 'responseLogprobs', 'logprobs', 'presencePenalty'),
  ...covered('frequencyPenalty', 'seed', 'mediaResolution'),
  thinkingConfig: spelled(covered('includeThoughts', 'thinkingBudget', 'thinkingLevel')),
  responseModalities: modalities,
}

/**
 * The properties of generateContent that a token price covers. Left out on purpose: all tools except function declarations
 * (search, maps, code, URL context), `cachedContent` (billed by the hour), speech and image output, and tiers with their own prices.
 */
export const GENERATE_MEMBERS: MemberRules = {
  contents,
  systemInstruction: (value, path) => contents(value, path),
  generationConfig: spelled(GENERATION),
  safetySettings: COVERED,
  tools,
  toolConfig: spelled(covered('functionCallingConfig')),
  serviceTier: tier,
  store: only(false),
}

import {
  brokenBodyRule,
  describeRule,
  type ListRule,
  type ParameterRule,
  type ParameterTable,
} from '../../core/catalog/parameters'
import { checked, form, type JsonSchema } from './json-schema'

/** A parameter object of OpenAPI 3.1. */
export interface OpenApiParameter {
  readonly name: string
  readonly in: 'query' | 'header' | 'path'
  readonly description: string
  readonly required: boolean
  readonly schema: JsonSchema
  readonly example?: unknown
  readonly allowEmptyValue?: true
  readonly style?: 'form'
  readonly explode?: true
}

/** The parameters of a validation table in OpenAPI form, with the same names, bounds, sets and defaults. */
export function openApiParameters(table: ParameterTable): OpenApiParameter[] {
  return Object.entries(table).map(([name, rule]) => {
    const example = exampleOf(rule)
    return {
      name,
      in: rule.in,
      description: descriptionOf(rule),
      required: rule.required === true,
      schema: queryForm(rule),
      ...(example !== undefined && { example }),
      ...(rule.in === 'query' && rule.kind === 'text' && rule.emptyIsDefault && { allowEmptyValue: true }),
      ...(rule.kind === 'list' && { style: 'form', explode: true }),
    }
  })
}

/**
 * The JSON body that takes a table's query parameters as properties of one flat object; header parameters stay headers. Its members
 * are validated by the rules of the table.
 */
export function bodySchema(table: ParameterTable) {
  const members = Object.entries(table).filter(([, rule]) => rule.in === 'query')
  return form(
    'The parameters.',
    Object.fromEntries(members.map(([name, rule]) => [name, memberSchema(rule)])),
    members.filter(([, rule]) => !rule.required).map(([name]) => name),
  )
}

function memberSchema(rule: ParameterRule) {
  const shown = { ...bodyForm(rule), description: descriptionOf(rule) }
  return checked<unknown>(shown, (value) => brokenBodyRule(rule, value))
}

/** A valid value to show and try: the table's own example, else the default, else the first value of the set. */
function exampleOf(rule: ParameterRule): unknown {
  if (rule.example !== undefined) return rule.example
  if ('default' in rule && rule.default !== undefined) return rule.default
  return rule.kind === 'enum' ? rule.values[0] : undefined
}

function queryForm(rule: ParameterRule): JsonSchema {
  return rule.kind === 'list' ? { type: 'array', items: entryOf(rule), maxItems: rule.maxEntries } : scalar(rule)
}

function bodyForm(rule: ParameterRule): JsonSchema {
  return rule.kind === 'list' ? { anyOf: [entryOf(rule), queryForm(rule)] } : scalar(rule)
}

function entryOf({ maxLength }: ListRule): JsonSchema {
  return { type: 'string', pattern: '\\S', maxLength }
}

function scalar(rule: Exclude<ParameterRule, { kind: 'list' }>): JsonSchema {
  const fallback = 'default' in rule && rule.default !== undefined ? { default: rule.default } : {}
  switch (rule.kind) {
    case 'integer':
    case 'number':
      return { type: rule.kind, minimum: rule.min, maximum: rule.max, ...fallback }
    case 'boolean':
      return { type: 'boolean', ...fallback }
    case 'enum':
      return { type: 'string', enum: rule.values, ...fallback }
    case 'text':
      return { type: 'string', minLength: rule.min, maxLength: rule.max, pattern: pattern(rule), ...fallback }
  }
}

/** The rest of a rule beyond its length: the rule's own pattern, else the number of words, else that it is not blank. */
function pattern(rule: Extract<ParameterRule, { kind: 'text' }>): string {
  if (rule.pattern) return rule.pattern.source.source
  return rule.maxWords === undefined ? '\\S' : `^\\s*\\S+(?:\\s+\\S+){0,${rule.maxWords - 1}}\\s*$`
}

function descriptionOf(rule: ParameterRule): string {
  const sentences = [rule.description]
  if (rule.kind === 'text' && rule.maxWords !== undefined) sentences.push(sentence(describeRule(rule)))
  if (rule.kind === 'enum' && rule.anyCase) sentences.push('Letter case does not matter.')
  if (rule.kind === 'list') sentences.push(sentence(describeRule(rule)))
  return sentences.join(' ')
}

function sentence(rule: string): string {
  return `${rule.charAt(0).toUpperCase()}${rule.slice(1)}.`
}

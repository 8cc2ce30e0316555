import { EXAMPLE, type JsonSchema } from './json-schema'

const INSTANT = '2026-11-21T08:56:28.490Z'

/** Examples of members that have the same meaning wherever they occur, by name; of a list, of its entries. */
const MEMBERS: Readonly<Record<string, unknown>> = {
  account_id: 'acct_01a1fdfa942070018c603d2632ddc21b',
  action: 'key.change',
  allowed_endpoints: 'image-search',
  allowed_ips: '203.0.113.7',
  allowed_models: 'sandbox/echo',
  amount_micros_usd: 5000,
  api: 'weather',
  attempts: 1,
  auth: 'header:x-api-key=env:UPSTREAM_WEATHER_KEY',
  auth_url: 'https://social.example.com/authorize?response_type=code&client_id=gateway',
  available_balance_micros_usd: 1_990_000,
  available_micros_usd: 1_990_000,
  balance_after_micros_usd: 1_990_000,
  balance_micros_usd: 1_990_000,
  base_url: 'https://api.weather.example',
  baseModelId: 'sandbox/echo',
  body: '{"type":"balance.low"}',
  catalogue_micros_usd: 5000,
  charged_micros_usd: 5000,
  code: 'rate_limit_exceeded',
  concurrency: 5,
  confirm: '4c1d6e6f0b2a9f31',
  content_type: 'application/json',
  cost_micros_usd: 5000,
  created: 1_767_225_600,
  credential_id: 'key_01a1fdfa942070018c603d2632ddc21b',
  description: 'Forecasts for any place.',
  display_name: 'sandbox/echo',
  displayName: 'sandbox/echo',
  email: 'ada@example.com',
  end_time: 1_795_219_200,
  endpoints: 'image-search',
  events_mark: '8f14e45f.12',
  id: 'getForecast',
  ip: '203.0.113.7',
  key_id: 'key_01a1fdfa942070018c603d2632ddc21b',
  last4: 'UYRQ',
  last_request_id: 'req_01a1fdfa942070008c603d2632ddc21a',
  latency_ms: 12,
  limit: 60,
  link_id: 'link_01a1fdfa942070018c603d2632ddc21c',
  message: 'This key does not exist.',
  method: 'GET',
  model: 'sandbox/echo',
  name: 'Example',
  operation: 'image-search',
  owned_by: 'sandbox',
  path: '/v1/forecast',
  payer: '0xf39fd6e51aad88f6f4ce6ab8827279cfffb92266',
  peak_rpm: 2000,
  peak_tpm: 500_000,
  pinned_operations: 'image-search',
  prefix: 'gwk_3o',
  price_version: '2.0.0',
  reason: 'It has a cookie parameter.',
  remaining: 59,
  request_id: 'req_01a1fdfa942070008c603d2632ddc21a',
  requests: 1,
  requests_per_minute: 60,
  scopes: 'tweet.read',
  secret: `gwk_${'3o'.padEnd(45, 'x')}UYRQ`,
  start_time: 1_795_132_800,
  state: 'nGt1D4rqBPc0c4JEzV0xgJXJH1H0tB8C9e9yJm8YxV4',
  status: 200,
  tags: 'production',
  timezone: 'UTC',
  title: 'Weather',
  tokens_per_minute: 60_000,
  tool_name: 'weather_getforecast',
  type: 'balance.low',
  unit: 'request',
  url: 'https://example.com/webhooks/gateway',
  usd: '0.01',
  use_case: 'Our shop shows pictures for every product.',
  username: 'ada',
  version: '1',
  workspace_id: 'acct_01a1fdfa942070018c603d2632ddc21b',
}

/** The examples of a response: one, or one for each form that it can have. */
export function responseExamples(schema: JsonSchema): Readonly<Record<string, unknown>> {
  const { anyOf } = schema
  if (!Array.isArray(anyOf) || anyOf.some(isNull)) return { example: schemaExample(schema) }
  return Object.fromEntries(anyOf.map((form) => [form.$id ?? 'example', schemaExample(form)]))
}

/** A value of a schema: its own example, that of its name, or one of its type. A nullable value is null. */
function schemaExample(schema: JsonSchema, name = ''): unknown {
  const own: unknown = Reflect.get(schema, EXAMPLE)
  if (own !== undefined) return own
  const { anyOf, enum: values, type } = schema
  if (Array.isArray(type) || (Array.isArray(anyOf) && anyOf.some(isNull))) return null
  if (Array.isArray(anyOf)) return schemaExample(anyOf[0], name)
  if (Array.isArray(values)) return values[0]
  return typeExample(schema, name)
}

function typeExample(schema: JsonSchema, name: string): unknown {
  const { type, properties, required, items, minimum, format } = schema
  const known = MEMBERS[name]
  switch (type) {
    case 'object': {
      const names = Array.isArray(required) ? required : []
      return Object.fromEntries(names.map((one) => [one, schemaExample(Reflect.get(Object(properties), one), one)]))
    }
    case 'array':
      return [schemaExample(Object(items), name)]
    case 'boolean':
      return false
    case 'integer':
    case 'number': {
      const least = Number(minimum ?? 0)
      return typeof known === 'number' && known >= least ? known : least
    }
    default:
      if (format === 'date-time') return INSTANT
      if (format === 'uri') return 'https://example.com/'
      return typeof known === 'string' ? known : 'text'
  }
}

function isNull(schema: { readonly type?: unknown }): boolean {
  return schema.type === 'null'
}

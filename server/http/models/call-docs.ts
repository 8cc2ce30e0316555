import type { FailureCode } from '../../core/failure'
import { KEY_FAILURES } from '../keys/key-failures'
import { type EndpointDocs, requestBody } from '../openapi/documented'
import { type ModelCallId, modelBody, shapeOf } from './body-docs'

/** The failures of a model call. */
export const CALL_FAILURES: readonly FailureCode[] = [
  'missing_parameter',
  'invalid_parameter',
  'json_parse_error',
  'invalid_request',
  'model_route_not_supported',
  ...KEY_FAILURES,
  'recharge_required',
  'insufficient_api_key_balance',
  'insufficient_balance',
  'quota_exceeded',
  'insufficient_permissions',
  'model_not_allowed',
  'unknown_model',
  'estimated_price_exceeds_max_price',
  'request_timeout',
  'payload_too_large',
  'unsupported_media_type',
  'idempotency_conflict',
  'answer_not_kept',
  'outcome_unknown',
  'max_tokens_exceeded',
  'unsupported_parameter',
  'upstream_rate_limit',
  'upstream_error',
  'upstream_unavailable',
  'upstream_timeout',
]

const PRICING_NOTES = [
  "Charged at the model's prices and rounded up once. The maximum cost is held before the call runs, and the unused part is released afterwards. `X-Cost-Mode: quote` returns the maximum cost without running the call.",
  'Tokens (input plus the output cap) are reserved from the per-minute limit and corrected when the call ends; an output cap within the stated maximum of the model reserves at most a quarter of the limit. A call occupies a concurrency slot until its last byte.',
  "A stream is charged before its final event is sent. Errors from the vendor are passed through in the vendor's own format and are not charged.",
  'The header `X-Fallback-Models: model-b, model-c` names models that serve the call, in this order, if no upstream of its model does. The dearest of them is held, the one that served is charged, and `X-Served-By` names it.',
  'With an `Idempotency-Key`, the same body returns the first response again; a stream replays its events. A call continues when the client disconnects, and is charged in full.',
]

/** In full at one route: ten copies are most of the document. */
const LIKE_CHAT = 'Everything else is as for `POST /v1/chat/completions`.'

const COST = ['X-Cost-Micros-USD', 'Idempotency-Replayed'] as const

/** The documentation of a route that calls a model. */
export function call(
  id: ModelCallId,
  summary: string,
  introduction: string,
  body: { example: unknown; required: string[]; contentType?: 'multipart/form-data' },
  answer: unknown,
): EndpointDocs {
  return {
    id,
    tag: 'Models',
    summary,
    description: [introduction, ...(id === 'chatCompletions' ? PRICING_NOTES : [LIKE_CHAT])].join('\n\n'),
    body: {
      ...requestBody(
        "In the vendor's own format. Parameters that the model's price does not cover are rejected with 422.",
        modelBody(id, body.required),
        { simple: body.example },
      ),
      ...(body.contentType && { contentType: body.contentType }),
    },
    answers: {
      200: {
        description: "The model's response.",
        schema: shapeOf(answer),
        examples: { answer },
        canBeQuote: true,
        headers: [...COST, 'X-Gateway-Removed-Betas', 'X-Served-By', 'X-Cache', 'Age'],
      },
    },
    failures: CALL_FAILURES,
    passesUpstreamErrors: true,
  }
}

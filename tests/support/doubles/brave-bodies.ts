/**
 * Bodies of Brave's Search API, as its makers published them. Nothing here was invented but what a comment says.
 *
 * - CONTEXT, LOCAL_CONTEXT: https://github.com/brave/brave-search-skills `skills/llm-context/SKILL.md`, commit 12224a7
 * - IMAGES: the same repository, `skills/images-search/SKILL.md`, commit 5a6da7e
 * - errors: the schema and examples of https://api-dashboard.search.brave.com/api-reference/summarizer/llm_context/get (crawl
 *   of 2026-03-18), with `error` as one object, as real bodies have it
 * - RATE_HEADERS: https://api-dashboard.search.brave.com/app/documentation/image-search/response-headers
 */

/** The elisions of the page ("...") are kept as text; the byte order and the spelling are the page's. */
export const CONTEXT = `{
  "grounding": {
    "generic": [
      {
        "url": "https://example.com/page",
        "title": "Page Title",
        "snippets": [
          "Relevant text chunk extracted from the page...",
          "Another relevant passage from the same page..."
        ]
      }
    ],
    "map": []
  },
  "sources": {
    "https://example.com/page": {
      "title": "Page Title",
      "hostname": "example.com",
      "age": ["Wednesday, January 15, 2025", "2025-01-15", "392 days ago"]
    }
  }
}
`

/** Its `generic` is elided on the page; here it is empty. */
export const LOCAL_CONTEXT = `{
  "grounding": {
    "generic": [],
    "poi": {
      "name": "Business Name",
      "url": "https://business.com",
      "title": "Title of business.com website",
      "snippets": ["Business details and information..."]
    },
    "map": [
      {
        "name": "Place Name",
        "url": "https://place.com",
        "title": "Title of place.com website",
        "snippets": ["Place information and details..."]
      }
    ]
  },
  "sources": {
    "https://business.com": {
      "title": "Business Name",
      "hostname": "business.com",
      "age": null
    }
  }
}
`

export const IMAGES = `{
  "type": "images",
  "query": {
    "original": "mountain landscape",
    "altered": null,
    "spellcheck_off": false,
    "show_strict_warning": false
  },
  "results": [
    {
      "type": "image_result",
      "title": "Beautiful Mountain Landscape",
      "url": "https://example.com/mountain-photo",
      "source": "example.com",
      "page_fetched": "2024-01-15T10:30:00Z",
      "thumbnail": {
        "src": "https://imgs.search.brave.com/...",
        "width": 200,
        "height": 150
      },
      "properties": {
        "url": "https://example.com/images/mountain.jpg",
        "placeholder": "https://imgs.search.brave.com/placeholder/...",
        "width": 1920,
        "height": 1080
      },
      "meta_url": {
        "scheme": "https",
        "netloc": "example.com",
        "hostname": "example.com",
        "favicon": "https://imgs.search.brave.com/favicon/...",
        "path": "/mountain-photo"
      },
      "confidence": "high"
    }
  ],
  "extra": {
    "might_be_offensive": false
  }
}
`

/** An error body. `meta` differs by code. */
export function errorBody(status: number, code: string, meta: object, detail = 'No detail.'): string {
  const id = '5d832250-9396-4f6e-b84a-2a1fe524cd7d'
  return JSON.stringify({ type: 'ErrorResponse', error: { id, status, code, detail, meta }, time: 1663072993 })
}

export const TOKEN_INVALID = errorBody(
  422,
  'SUBSCRIPTION_TOKEN_INVALID',
  { component: 'authentication' },
  'The provided subscription token is invalid.',
)

/** A parameter that Brave does not take, the way its validator tells. */
export function validationBody(loc: readonly string[], input: string): string {
  const errors = [{ type: 'string_pattern_mismatch', loc, msg: 'Input is not valid', input }]
  return errorBody(422, 'VALIDATION', { errors }, 'Unable to validate request parameter(s)')
}

/** A key of one request a second and 15,000 a month, the first window used up. */
export const RATE_HEADERS = {
  'x-ratelimit-limit': '1, 15000',
  'x-ratelimit-policy': '1;w=1, 15000;w=2592000',
  'x-ratelimit-remaining': '0, 1000',
  'x-ratelimit-reset': '1, 1419704',
}

import { isJson, jsonText } from '../../../core/json'
import type { ActingAccount, Done, SocialAction } from '../../../core/social/network'
import type { WireRequest } from './wire'

type JsonObject = Readonly<Record<string, unknown>>

interface ActionRequest extends Pick<WireRequest, 'method' | 'json'> {
  /** The path with its query, relative to the API's base URL. */
  readonly path: string
}

const USER_FIELDS = 'created_at,description,profile_image_url,protected,public_metrics,verified'
const MESSAGE_FIELDS = 'id,text,event_type,sender_id,dm_conversation_id,created_at'

/** The request of an action. */
export function requestOf({ userId }: ActingAccount, action: SocialAction): ActionRequest {
  const me = `/2/users/${encodeURIComponent(userId)}`
  switch (action.kind) {
    case 'follow':
      return { method: 'POST', path: `${me}/following`, json: { target_user_id: action.targetUserId } }
    case 'unfollow':
      return { method: 'DELETE', path: `${me}/following/${encodeURIComponent(action.targetUserId)}` }
    case 'like':
      return { method: 'POST', path: `${me}/likes`, json: { tweet_id: action.tweetId } }
    case 'unlike':
      return { method: 'DELETE', path: `${me}/likes/${encodeURIComponent(action.tweetId)}` }
    case 'delete':
      return { method: 'DELETE', path: `/2/tweets/${encodeURIComponent(action.tweetId)}` }
    case 'post': {
      const { text, inReplyToTweetId: replied, quoteTweetId: quoted } = action
      return {
        method: 'POST',
        path: '/2/tweets',
        json: {
          text,
          ...(replied !== null && { reply: { in_reply_to_tweet_id: replied } }),
          ...(quoted !== null && { quote_tweet_id: quoted }),
        },
      }
    }
    case 'dm':
      return {
        method: 'POST',
        path: `/2/dm_conversations/with/${encodeURIComponent(action.recipientId)}/messages`,
        json: { text: action.text },
      }
    case 'user': {
      const base = action.by === 'id' ? '/2/users' : '/2/users/by/username'
      return { method: 'GET', path: `${base}/${encodeURIComponent(action.value)}?user.fields=${USER_FIELDS}` }
    }
    case 'messages': {
      const query = new URLSearchParams({
        max_results: String(action.max),
        event_types: 'MessageCreate',
        'dm_event.fields': MESSAGE_FIELDS,
        ...(action.pageToken !== null && { pagination_token: action.pageToken }),
      })
      const base =
        action.withUserId === null
          ? '/2/dm_events'
          : `/2/dm_conversations/with/${encodeURIComponent(action.withUserId)}/dm_events`
      return { method: 'GET', path: `${base}?${query}` }
    }
  }
}

/** The result of an action from its 2xx; null when the response does not confirm the action. */
export function doneOf(action: SocialAction, body: JsonObject): Done | null {
  if (action.kind === 'messages') return messagesOf(body, action.max)
  const { data } = body
  if (!isJson(data)) return null
  const done = {
    follow: data['following'] === true || data['pending_follow'] === true,
    unfollow: data['following'] === false,
    like: data['liked'] === true,
    unlike: data['liked'] === false,
    delete: data['deleted'] === true,
    post: typeof data['id'] === 'string',
    dm: typeof data['dm_event_id'] === 'string',
    user: typeof data['id'] === 'string',
  }[action.kind]
  return done ? { data } : null
}

/** Groups the network's events by conversation, keeping their order (newest first). Without events there is no `data` at all. */
function messagesOf(body: JsonObject, max: number): Done | null {
  const { data = [], meta } = body
  if (!Array.isArray(data) || (data.length === 0 && !isJson(meta))) return null
  const threads = new Map<string, JsonObject[]>()
  const messages = data.filter((event) => isJson(event) && event['event_type'] === 'MessageCreate').slice(0, max)
  for (const { id, text, sender_id, dm_conversation_id, created_at } of messages) {
    const conversation = jsonText(dm_conversation_id)
    threads.set(conversation, [...(threads.get(conversation) ?? []), { id, text, sender_id, created_at }])
  }
  const next = isJson(meta) && typeof meta['next_token'] === 'string' ? meta['next_token'] : null
  return {
    items: messages.length,
    data: {
      threads: [...threads].map(([id, of]) => ({ dm_conversation_id: id, messages: of })),
      result_count: messages.length,
      next_token: next,
    },
  }
}

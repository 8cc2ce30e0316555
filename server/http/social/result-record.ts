import type { TProperties } from '@sinclair/typebox'
import { instant, listOf, named, opaque, orNull, record, text, whole, yesOrNo } from '../openapi/json-schema'

export const SocialFollow = named(
  'SocialFollow',
  answer('Whether the linked account follows now.', {
    following: yesOrNo('Whether it follows the user.'),
    pending_follow: yesOrNo('Whether the follow request awaits approval.'),
  }),
)

export const SocialUnfollow = named(
  'SocialUnfollow',
  answer('Whether the linked account follows now.', {
    following: yesOrNo('Whether it follows the user.'),
  }),
)

export const SocialLike = named(
  'SocialLike',
  answer('Whether the linked account likes the post now.', {
    liked: yesOrNo('Whether it likes the post.'),
  }),
)

export const SocialPost = named(
  'SocialPost',
  answer(
    'The post.',
    {
      id: text('Its id.'),
      text: text('Its text as the network shows it.'),
      edit_history_tweet_ids: listOf(text('An id.'), 'Ids of its versions.'),
    },
    ['edit_history_tweet_ids'],
  ),
)

export const SocialDelete = named(
  'SocialDelete',
  answer('The result of the deletion.', { deleted: yesOrNo('Whether the post is deleted.') }),
)

export const SocialMessage = named(
  'SocialMessage',
  answer('The message.', {
    dm_conversation_id: text('Id of its thread.'),
    dm_event_id: text('Its id.'),
  }),
)

export const SocialUser = named(
  'SocialUser',
  answer(
    "A user, with the network's own properties.",
    {
      id: text('Id.'),
      username: text('Name without the @.'),
      name: text('Display name.'),
      created_at: instant('When the user joined.'),
      description: text("The user's profile text."),
      protected: yesOrNo('Whether posts are visible to followers only.'),
      verified: yesOrNo('Whether the network has verified the user.'),
      public_metrics: opaque({ type: 'object', description: 'Counts of followers, followed users, posts and lists.' }),
    },
    ['created_at', 'description', 'protected', 'verified', 'public_metrics'],
  ),
)

export const SocialThreads = named(
  'SocialThreads',
  answer('Messages by thread.', {
    threads: listOf(
      record('A thread.', {
        dm_conversation_id: text('Its id.'),
        messages: listOf(
          record('A message.', {
            id: text('Its id.'),
            text: text('Its text.'),
            sender_id: text('Id of the sender.'),
            created_at: instant('When it was sent.'),
          }),
          'Newest first.',
        ),
      }),
      'The threads that contain these messages.',
    ),
    result_count: whole('Number of messages returned. Each is charged.', { minimum: 0 }),
    next_token: orNull(text('Send it to get the next page; null on the last page.')),
  }),
)

function answer<P extends TProperties, O extends keyof P & string = never>(
  description: string,
  members: P,
  optional: readonly O[] = [],
) {
  return record('A success.', { data: record(description, members, optional) })
}

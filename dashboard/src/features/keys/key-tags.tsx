import { Link } from '@tanstack/react-router'
import { clsx } from 'clsx'
import { KEY_TEXT as TEXT } from '../../messages/keys.ts'

/** The tags of a key, each a link to the keys that have it; on one line if there is room for `most` alone. */
export function KeyTags({ tags, most }: { tags: readonly string[]; most?: number }) {
  const more = most === undefined ? [] : tags.slice(most)
  return (
    <ul
      aria-label={TEXT.typed.tags.label}
      className={clsx('flex gap-1', most === undefined ? 'min-w-0 flex-wrap' : 'shrink-0')}
    >
      {tags.slice(0, most).map((tag) => (
        <li key={tag} className="min-w-0">
          <Link
            to="/keys"
            search={{ tag }}
            title={tag}
            className={clsx(
              'small inline-block min-h-6 max-w-full rounded-full bg-sunken px-2 text-muted hover:underline',
              most === undefined ? 'wrap-anywhere' : 'max-w-28 truncate',
            )}
          >
            {tag}
          </Link>
        </li>
      ))}
      {more.length > 0 && (
        <li className="small shrink-0 text-muted" title={more.join(', ')}>
          +{more.length}
        </li>
      )}
    </ul>
  )
}

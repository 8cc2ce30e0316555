import { Link } from '@tanstack/react-router'
import { KEY_TEXT as TEXT } from '../../messages/keys.ts'

/** The tags of a key, each a link to the keys that have it. */
export function KeyTags({ tags }: { tags: readonly string[] }) {
  return (
    <ul aria-label={TEXT.typed.tags.label} className="flex flex-wrap gap-1">
      {tags.map((tag) => (
        <li key={tag}>
          <Link
            to="/keys"
            search={{ tag }}
            className="small inline-block min-h-6 rounded-full bg-sunken px-2 wrap-anywhere text-muted hover:underline"
          >
            {tag}
          </Link>
        </li>
      ))}
    </ul>
  )
}

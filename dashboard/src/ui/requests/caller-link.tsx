import { Link } from '@tanstack/react-router'

/** Whether the id of a caller is that of a key; else it is an app's. */
export function isKeyId(id: string): boolean {
  return id.startsWith('key_')
}

/** Leads to the key or the app that made a request. */
export function CallerLink({ id, label }: { id: string; label: string }) {
  const look = 'text-accent wrap-anywhere'
  return isKeyId(id) ? (
    <Link to="/keys/$id" params={{ id }} search={{}} className={look}>
      {label}
    </Link>
  ) : (
    <Link to="/apps" className={look}>
      {label}
    </Link>
  )
}

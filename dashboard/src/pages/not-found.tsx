import { useEffect } from 'react'

/** Every path of the dashboard that no page lives at. */
export function NotFound() {
  useEffect(() => {
    document.title = 'Page not found · Gateway'
  }, [])
  return (
    <main className="page">
      <h1>Page not found</h1>
      <p>
        There is no page at this address. <a href="/">Getting started</a> is the one there is.
      </p>
    </main>
  )
}

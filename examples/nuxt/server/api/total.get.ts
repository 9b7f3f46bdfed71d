/** Computed once in 60 s; the result is in the storage `cache`, which is Varve, and so survives a restart of the server. */
export default defineCachedEventHandler(() => ({ total: 195.5, computedAt: new Date().toISOString() }), { maxAge: 60, name: 'total' })

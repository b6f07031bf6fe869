# An S3 store for tests: the proxy, account, container and object servers of OpenStack Swift with its S3
# interface, all in one process, on free ports of this machine.
#
#   python3 s3-store.py DIRECTORY ACCESS_KEY SECRET_KEY
#
# Prints the port of the S3 interface when it can be asked, and ends when its standard input does.
import json
import os
import sys

import eventlet
from eventlet import hubs, tpool, wsgi

eventlet.monkey_patch()
# Nothing has to outlive a test, and files that small are faster written than handed to another thread.
os.fsync = os.fdatasync = lambda descriptor: None
tpool.execute = lambda act, *arguments, **named: act(*arguments, **named)

from swift.common import utils

directory, access_key, secret_key = sys.argv[1:4]
account, user = access_key.split(':')
etc = os.path.join(directory, 'etc')
os.makedirs(os.path.join(directory, 'disks', 'd1'))
os.makedirs(etc)


def write(name, text):
    path = os.path.join(etc, name)
    with open(path, 'w') as file:
        file.write(text)
    return path


# Must be set before anything else of Swift is loaded: it reads this file at once.
utils.SWIFT_CONF_FILE = write(
    'swift.conf', '[swift-hash]\nswift_hash_path_prefix = a\nswift_hash_path_suffix = b\n'
)

from swift.common.ring import RingBuilder
from swift.common.wsgi import loadapp

kinds = ['account', 'container', 'object', 'proxy']
sockets = {kind: eventlet.listen(('127.0.0.1', 0), backlog=512) for kind in kinds}
ports = {kind: socket.getsockname()[1] for kind, socket in sockets.items()}
common = '[DEFAULT]\nswift_dir = %s\ndevices = %s/disks\nmount_check = false\ndisable_fallocate = true\n' % (
    etc,
    directory,
)

for kind in kinds[:3]:
    ring = RingBuilder(4, 1, 0)
    ring.add_dev(
        {'id': 0, 'region': 1, 'zone': 1, 'weight': 1, 'ip': '127.0.0.1', 'port': ports[kind], 'device': 'd1'}
    )
    ring.rebalance()
    ring.get_ring().save(os.path.join(etc, kind + '.ring.gz'))
    write(kind + '.conf', common + '[pipeline:main]\npipeline = app\n[app:app]\nuse = egg:swift#%s\n' % kind)

filters = ['gatekeeper', 'listing_formats', 's3api', 'tempauth']
settings = {
    's3api': 'location = us-east-1\n',
    'tempauth': 'user_%s_%s = %s .admin\n' % (account, user, secret_key),
}
write(
    'proxy.conf',
    common
    + '[pipeline:main]\npipeline = %s proxy-server\n' % ' '.join(filters)
    + '[app:proxy-server]\nuse = egg:swift#proxy\naccount_autocreate = true\n'
    + ''.join('[filter:%s]\nuse = egg:swift#%s\n%s' % (name, name, settings.get(name, '')) for name in filters),
)



class Cache:
    """In the place of a memcached; without one every request asks for its account and bucket anew."""

    def __init__(self):
        self.values = {}

    def get(self, key, **_):
        return self.values.get(key)

    def set(self, key, value, **_):
        self.values[key] = value

    def delete(self, key, **_):
        self.values.pop(key, None)


cache = Cache()


def with_cache(app):
    def answer(environment, start_response):
        environment['swift.cache'] = cache
        return app(environment, start_response)

    return answer


silent = open(os.devnull, 'w')
for kind in kinds:
    app = with_cache(loadapp(os.path.join(etc, kind + '.conf')))
    eventlet.spawn(wsgi.server, sockets[kind], app, silent, debug=False)


def end_with_input():
    hubs.trampoline(sys.stdin.fileno(), read=True)
    os._exit(0)


eventlet.spawn(end_with_input)
print(json.dumps({'port': ports['proxy']}), flush=True)
eventlet.event.Event().wait()

# For editors: the front door of this namespace ships with beam-agents-core.
__path__ = __import__("pkgutil").extend_path(__path__, __name__)

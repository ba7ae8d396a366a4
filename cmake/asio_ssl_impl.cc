// Asio's TLS, apart from asio_impl.cc so that programs without TLS do not draw it in.
#include <boost/asio/ssl/impl/src.hpp>
